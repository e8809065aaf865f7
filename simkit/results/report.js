"use strict";
// The slider of the budget: all pages were made with the plan; nothing is computed here but the
// place of the mark.
const root = document.currentScript.closest(".simkit-plan");
const { steps, own } = JSON.parse(root.querySelector(".values").textContent);
const find = (name) => root.querySelector(name);
const controls = find(".controls"), slider = find("[name=budget]"), mark = find(".mark");
const line = find(".budget");
const command = find(".command"), given = command && command.textContent;
const pages = root.querySelectorAll("template");
controls.hidden = line.hidden = false;

function move() {
  const step = steps[slider.value], away = Number(slider.value) !== own;
  root.classList.toggle("away", away);
  slider.setAttribute("aria-valuetext", step.budget);
  find("[name=shown]").value = step.budget;
  const page = pages[slider.value].content.cloneNode(true);
  for (const part of ["h2", "dl", ".tables"]) find(part).replaceWith(page.querySelector(part));
  line.querySelector("b").textContent = `budget ${step.budget}`;
  const dollars = step.budget.replace(/[$,]/g, "");
  if (command) command.textContent = away ? given.replace(/--budget \S+/, `--budget ${dollars}`) : given;
  mark.hidden = !away;
  mark.querySelector("b").textContent = step.label;
  place();
}

function place() {
  const image = [...root.querySelectorAll(".plot img")].find((one) => one.offsetWidth);
  if (!image) return;
  const [left, bottom, right, top, low, high, least, most] = image.dataset.scale.split(" ").map(Number);
  const [dollars, map] = steps[slider.value].mark;
  const across = (money) => left + (right - left) * (Math.log10(money) - low) / (high - low);
  const x = across(dollars), middle = (left + right) / 2;
  const y = bottom + (top - bottom) * (100 * map - least) / (most - least);
  // Beyond the axes only the label stands, at their end.
  const inside = [Math.min(Math.max(x, left), right), Math.min(Math.max(y, bottom), top)];
  mark.classList.toggle("beyond", steps[slider.value].nothing || inside[0] !== x || inside[1] !== y);
  mark.style.left = `${100 * inside[0]}%`;
  mark.style.bottom = `${100 * inside[1]}%`;
  mark.classList.toggle("right", x > middle);
  const end = Math.min(Math.max(across(steps[slider.value].budget.replace(/[$,]/g, "")), left), right);
  line.style.left = `${100 * end}%`;
  line.style.bottom = `${100 * bottom}%`;
  line.style.height = `${100 * (top - bottom)}%`;
  line.classList.toggle("right", end > middle);
}

slider.addEventListener("input", move);
addEventListener("resize", place);
// In print, the plan for its own budget.
let before = own;
addEventListener("beforeprint", () => { before = slider.value; slider.value = own; move(); });
addEventListener("afterprint", () => { slider.value = before; move(); });
move();
