"use strict";
// The slider of the budget: every answer was computed with the plan; nothing is computed here but
// the place of the mark, the day when the work is done, and the wage of the hours.
const root = document.currentScript.closest(".simkit-plan");
const { steps, own, cheapest, day } = JSON.parse(root.querySelector(".values").textContent);
const find = (name) => root.querySelector(name);
const controls = find(".controls"), slider = find("[name=budget]"), bill = find(".bill");
const mark = find(".mark"), list = find("dl"), command = find(".command");
const given = command && command.textContent;
controls.hidden = false;

function text(name, words, kind) {
  const made = document.createElement(name);
  made.textContent = words.replaceAll("`", "");
  made.className = kind || "";
  return made;
}

function move() {
  const step = steps[slider.value], away = Number(slider.value) !== own;
  root.classList.toggle("away", away);
  slider.setAttribute("aria-valuetext", step.budget);
  find("[name=shown]").value = step.budget;
  for (const old of list.querySelectorAll(".step")) old.remove();
  const made = [];
  for (const [name, kind, head, rest] of step.answers) {
    const words = document.createElement("dd");
    words.className = "step";
    if (kind) words.append(text("strong", head, kind), kind === "head" && rest ? document.createElement("br") : " ");
    words.append(text("span", rest));
    made.push(text("dt", name, "step " + kind), words);
  }
  list.querySelector("dt.own").before(...made);
  bill.hidden = !step.bill.length;
  bill.querySelector("tbody").replaceChildren(...step.bill.map((row, place) => {
    const line = document.createElement("tr");
    line.append(...row.map((cell, column) => text("td", cell, column ? "number" : "")));
    if (place && place === step.bill.length - 1) line.className = "total";
    return line;
  }));
  const dollars = step.budget.replace(/[$,]/g, "");
  if (command) command.textContent = away ? given.replace(/--budget \S+/, `--budget ${dollars}`) : given;
  mark.hidden = !away;
  mark.querySelector("b").textContent = step.label;
  place();
  work();
}

function place() {
  const image = [...root.querySelectorAll(".plot img")].find((one) => one.offsetWidth);
  if (!image) return;
  const [left, bottom, right, top, low, high, least, most] = image.dataset.scale.split(" ").map(Number);
  const [dollars, map] = steps[slider.value].mark;
  const x = left + (right - left) * (Math.log10(dollars) - low) / (high - low);
  const y = bottom + (top - bottom) * (100 * map - least) / (most - least);
  // Beyond the axes only the label stands, at their end.
  const inside = [Math.min(Math.max(x, left), right), Math.min(Math.max(y, bottom), top)];
  const none = !steps[slider.value].bill.length;  // nothing is bought
  mark.classList.toggle("beyond", none || inside[0] !== x || inside[1] !== y);
  mark.style.left = `${100 * inside[0]}%`;
  mark.style.bottom = `${100 * inside[1]}%`;
  mark.classList.toggle("right", x > 0.5);
}

function work() {
  const hours = steps[slider.value].hours, shown = find("[name=work]");
  const [annotators, week, wage] = ["annotators", "week", "wage"].map((name) => Number(find(`[name=${name}]`).value));
  if (!(hours > 0 && annotators > 0 && week > 0 && wage > 0)) {
    shown.value = "";
    return;
  }
  const done = new Date(day);  // at midnight UTC
  done.setUTCDate(done.getUTCDate() + Math.ceil((7 * hours) / annotators / week));
  const by = done.toLocaleDateString("en-GB", { day: "numeric", month: "long", year: "numeric", timeZone: "UTC" });
  const money = Math.round(hours * wage).toLocaleString("en");
  shown.value = `${steps[slider.value].time} of work: $${money}, done by ${by}`;
}

function reach() {
  const target = find("[name=target]").value, shown = find("[name=reached]");
  const first = cheapest.find(([map]) => map >= Number(target));
  shown.value = !target ? "" : first ? first[2] : "no purchase reaches it that surely";
}

slider.addEventListener("input", move);
find("[name=target]").addEventListener("input", reach);
for (const name of ["annotators", "week", "wage"]) find(`[name=${name}]`).addEventListener("input", work);
addEventListener("resize", place);
// In print, the plan for its own budget.
let before = own;
addEventListener("beforeprint", () => { before = slider.value; slider.value = own; move(); });
addEventListener("afterprint", () => { slider.value = before; move(); });
move();
