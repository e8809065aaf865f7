"""What every method promises; a new one is covered as soon as its file is there."""

import copy
import re
import warnings
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
import torch
from safetensors.torch import load, save

from simkit.chance import Chance
from simkit.errors import BadInput
from simkit.learn import methods
from simkit.learn.method import stack_states, state_of_run
from simkit.learn.methods import Method, Outputs, Sizes, Task, get, make, names, spell
from simkit.learn.methods.wrappers import ConsistencyLoss
from simkit.learn.optim import Settings
from simkit.learn.side_info import prepare
from simkit.learn.train import train, train_stack
from simkit.learn.trained import Trained
from tests.learn.methods import zoo
from tests.learn.methods.zoo import (
    B,
    H,
    L,
    N,
    batch_of,
    end_epoch,
    labels,
    learn,
    of_maps,
    outputs,
    quietly,
    ready,
    same,
    specs,
    stacked,
    state_size,
    steps,
    task_for,
    task_of,
    tensors,
)

every = pytest.mark.parametrize("spec", specs())
near = {"atol": 1e-5, "rtol": 1e-5}


@every
def test_stacked_runs_equal_separate_runs(spec):
    method = make(spec)
    tasks = [task_for(spec, seed) for seed in range(3)]
    codes = [task.labels.rows(np.arange(N)) for task in tasks]
    alone = [quietly(method, task) for task in tasks]
    together = stack_states([quietly(method, task) for task in tasks])
    for epoch in (1, 2, 3):
        for index in zoo.order(epoch).split(B):
            singles = [outputs(10 * epoch + r, index=index) for r in range(3)]
            out, batch = stacked(singles), batch_of(np.stack(codes), index)
            found = method.loss(batch, out, together)
            assert found.shape == (3,)
            predicted = method.predict(out, together)
            selected = method.selected(batch, out, together)
            if found.requires_grad:
                found.sum().backward(retain_graph=True)
            for r, single in enumerate(singles):
                own = batch_of(codes[r], index)
                wanted = method.loss(own, single, alone[r])
                torch.testing.assert_close(found[r], wanted, **near)
                torch.testing.assert_close(predicted[r], method.predict(single, alone[r]), **near)
                assert torch.equal(selected[r], method.selected(own, single, alone[r]))
                if wanted.requires_grad:
                    wanted.backward(retain_graph=True)
                    torch.testing.assert_close(
                        out.maps.grad[r], single.maps.grad, atol=1e-6, rtol=1e-5
                    )
                learn(alone[r], wanted)
                with torch.no_grad():
                    method.after_batch(own, single, alone[r])
            learn(together, found)
            with torch.no_grad():
                method.after_batch(batch, out, together)
        ends = [outputs(r).logits.detach() for r in range(3)]
        for r in range(3):
            end_epoch(method, alone[r], epoch, ends[r])
        end_epoch(method, together, epoch, torch.stack(ends))
    for r in range(3):
        inside = tensors(state_of_run(together, r))
        assert inside.keys() == tensors(alone[r]).keys()
        for key, value in tensors(alone[r]).items():
            torch.testing.assert_close(inside[key], value, **near)


@every
def test_the_same_run_twice_gives_the_same_bits(spec):
    method, task, codes, _ = ready(spec, 1)
    found = []
    for noise in range(2):
        torch.manual_seed(noise)  # nobody may draw from there
        np.random.seed(noise)
        state = quietly(method, task, seed=3)
        found.append((steps(method, state, codes), tensors(state)))
    assert torch.equal(found[0][0], found[1][0]) and same(found[0][1], found[1][1])


@every
def test_loss_prediction_and_selection_only_read(spec):
    method, _, codes, state = ready(spec, 2)
    steps(method, state, codes)
    before = tensors(state)
    batch, out = batch_of(codes, torch.arange(N)), outputs(5)
    given = (batch.index, batch.labels, batch.boxes, batch.flips, out.logits, out.maps)
    kept = [tensor.detach().clone() for tensor in (*given, out.features)]
    loss = method.loss(batch, out, state)
    method.predict(out, state)
    chosen = method.selected(batch, out, state)
    if loss.requires_grad:
        loss.backward()
    assert same(before, tensors(state))
    assert all(torch.equal(a, b) for a, b in zip((*given, out.features), kept, strict=True))
    assert chosen.shape == out.logits.shape and chosen.dtype == torch.bool
    assert torch.equal(method.loss(batch, out, state), loss)


@every
@pytest.mark.parametrize("known", [0.0, 0.5, 1.0], ids=["nothing", "half", "everything"])
def test_gradients_are_finite_far_out(spec, known):
    method, _, codes, state = ready(spec, 4)
    steps(method, state, codes)
    batch = batch_of(labels(5, known), torch.arange(N))
    for size in (100.0, 0.0):
        signs = torch.as_tensor(labels(6, 1.0))[..., None, None].expand(N, L, H, H)
        out = of_maps((size * signs).float().requires_grad_())
        loss = method.loss(batch, out, state)
        assert torch.isfinite(loss)
        assert torch.isfinite(method.predict(out, state)).all()
        if loss.requires_grad:
            loss.backward()
            assert out.maps.grad is None or torch.isfinite(out.maps.grad).all()
        for parameter in state.parameters():
            assert parameter.grad is None or torch.isfinite(parameter.grad).all()
        with torch.no_grad():
            method.after_batch(batch, out, state)
        for parameter in state.parameters():
            assert torch.isfinite(parameter).all()


ALIKE = "an ignore wan ll-r ll-ct ll-cp ll-r-abs ll-ct-abs ll-cp-abs an(epsilon=spml)"


def test_methods_that_are_the_same_on_complete_labels_have_equal_losses_and_predictions():
    alone = [make(spec) for spec in specs() if "+" not in spec]
    declared = {one.name for one in alone if one.on_complete() != one} - {"full"}
    assert declared == {make(spec).name for spec in ALIKE.split()}
    codes = labels(3, 1.0).astype(int)
    for spec in ALIKE.split():
        for wrapper in ("", "+boostlu"):
            method = make(spec + wrapper)
            other = method.on_complete()
            states = [quietly(one, task_of(one, codes), seed=0) for one in (method, other)]
            for epoch in range(1, 4):
                for index in zoo.order(epoch).split(B):
                    batch = batch_of(codes, index)
                    outs = [outputs(epoch, index=index) for _ in states]
                    for one, out, state in zip((method, other), outs, states, strict=True):
                        one.loss(batch, out, state).backward()
                        one.after_batch(batch, out.detached(), state)
                    gradients = [out.maps.grad for out in outs]
                    torch.testing.assert_close(*gradients, atol=1e-8, rtol=1e-6)
                for one, state in zip((method, other), states, strict=True):
                    end_epoch(one, state, epoch, outputs(epoch).logits.detach())
            first, second = states
            seen = outputs(5)
            assert torch.equal(method.predict(seen, first), other.predict(seen, second))
    different = "an(pos_weight=2) ignore(reduction=sum) fe lsan wan(weight_known_negatives=true)"
    assert all(make(spec).on_complete() == make(spec) for spec in different.split())


def test_wrapped_methods_are_the_same_on_complete_labels_as_the_methods_in_them():
    for wrapper in ("boostlu", "cl", "scl", "cl+boostlu"):
        first, *others = [make(f"{name}+{wrapper}").on_complete() for name in ALIKE.split()[:-1]]
        assert {*others} == {first}


def test_a_class_with_code_of_its_own_is_the_same_as_no_other():
    class Own(type(make("an"))):
        def loss(self, batch, out, state):
            return 2 * super().loss(batch, out, state)

    class Faster(type(make("an"))):
        def groups(self, model, state, lr):
            return super().groups(model, state, 2 * lr)

    class All(type(make("ll-r"))):
        def selected(self, batch, out, state):
            return torch.ones_like(batch.labels, dtype=torch.bool)

    class Doubled:
        def loss(self, batch, out, state):
            return 2 * super().loss(batch, out, state)

    class Mixed(Doubled, type(make("an"))):
        pass

    class Added(type(make("an+boostlu"))):
        def extra(self, batch, out, state):
            return self.inner.loss(batch, out, state.inner)

    class Choosy(type(make("an+boostlu"))):
        def __post_init__(self):
            super().__post_init__()
            assert self.inner.name == "an"

    assert all(one().on_complete() == one() for one in (Own, Faster, All, Mixed))
    assert all(one(make("an")).on_complete() == one(make("an")) for one in (Added, Choosy))


@every
@pytest.mark.parametrize("known", [0.0, 1.0], ids=["nothing", "everything"])
def test_labels_that_know_nothing_or_everything_start_or_are_refused(spec, known):
    method, codes = make(spec), labels(3, known).astype(int)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            task = task_of(method, codes)
            state = method.start(task, Chance.seeded(0))
        except BadInput:
            assert known == 0.0  # everything known is good for everybody
            return
    assert torch.isfinite(steps(method, state, codes)).all()


@every
def test_a_positive_is_pulled_up_and_one_image_is_a_batch(spec):
    method, _, codes, state = ready(spec, 3)
    row, column = np.argwhere(codes == 1)[0]
    index = torch.tensor([row])
    maps = torch.zeros(1, L, H, H, requires_grad=True)
    method.loss(batch_of(codes, index), of_maps(maps, index), state).backward()
    assert maps.grad[0, column].sum() < 0


@every
def test_the_state_survives_saving_in_the_middle_of_an_epoch(spec):
    method, task, codes, state = ready(spec, 7)
    middle = N // B + 1  # one step into the second epoch
    steps(method, state, codes, stop=middle)
    data = save({key: value.contiguous() for key, value in state.state_dict().items()})
    again = quietly(method, task, seed=99)
    again.load_state_dict(load(data))
    assert same(tensors(again), tensors(state))
    rest = steps(method, state, codes, start=middle)
    assert torch.equal(steps(method, again, codes, start=middle), rest)
    assert same(tensors(again), tensors(state))


@every
def test_images_nobody_asked_about_change_nothing(spec):
    method, _, codes, _ = ready(spec, 6)
    tasks = [task_of(method, codes), task_of(method, codes, more=8)]
    states = [quietly(method, task) for task in tasks]
    for epoch in (1, 2, 3):
        for index in zoo.order(epoch).split(B):
            batch, out = batch_of(codes, index), outputs(epoch, index=index)
            losses = [method.loss(batch, out, state) for state in states]
            torch.testing.assert_close(*losses, **near)
            for state, loss in zip(states, losses, strict=True):
                learn(state, loss)
                with torch.no_grad():
                    method.after_batch(batch, out, state)
        ends = torch.cat([outputs(0).logits.detach(), torch.full((8, L), 9.0)])
        end_epoch(method, states[0], epoch, ends[:N])
        end_epoch(method, states[1], epoch, ends)


@every
def test_the_state_is_as_large_as_declared(spec):
    method, task, _, state = ready(spec)
    assert state_size(state) == method.state_bytes(task.sizes)
    learned = sum(4 * parameter.numel() for parameter in state.parameters())
    assert method.learned_bytes(task.sizes) == learned


@every
def test_what_is_missing_at_the_start_is_said(spec):
    method, sizes = make(spec), Sizes(N, L)
    if not (method.needs.labels or method.needs.aids or method.needs.features):
        assert isinstance(method.start(sizes, None), torch.nn.Module)
        return
    with pytest.raises(
        BadInput,
        match=r"needs the whole label matrix|reads pooled feat|which this|cannot be estimated",
    ):
        method.start(sizes, None)


@every
def test_what_a_loop_leaves_out_is_said(spec):
    """Class maps, pooled features and scores at the end of an epoch, for methods that read them."""
    method, _, codes, state = ready(spec)
    batch, bare = batch_of(codes, torch.arange(N)), Outputs(torch.zeros(N, L))
    if method.needs.maps or method.needs.features:
        with pytest.raises(BadInput, match=r"class maps|pooled features.*give Outputs"):
            method.loss(batch, bare, state)
            method.predict(bare, state)
    if method.needs.epoch_scores:
        with pytest.raises(BadInput, match=r"scores of all images.*give epochs"):
            method.after_epoch(1, None, state)


@pytest.mark.parametrize(
    "spec", ["ignore", "partial-bce", "curriculum", "imcl", *map("p-asl(mode={})".format,
             ("ignore", "ignore_normalize_classes"))]
)  # fmt: skip
def test_labels_without_negatives_are_warned_of(spec):
    method, inputs = make(spec), zoo.features()
    positives = np.maximum(labels(0, 0.5), 0).astype(int)
    with pytest.warns(UserWarning, match="none of these says absent") as caught:
        method.start(Task(positives, inputs))
    assert len(caught) == 1 and caught[0].filename == __file__  # the place that starts the method
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        method.start(Task(labels(0, 0.5).astype(int), inputs))


IMPOSSIBLE = """
    an(pos_weight=0) an+boostlu(alpha=0.5) an+cl(distance=l3) an+cl(weight=-1) an+scl(mu=1.5)
    an+scl(side=0) an+scl(warmup=-1) asl(clip=1) asl(gamma_neg=-1) asl(gamma_pos=101)
    cnn-rnn(hidden=0) csl(a=-1) csl(alpha_pos=-1) csl(eta=5) csl(gamma_neg=101) csl(top_k=-1)
    curriculum(every=0) curriculum(share=2) curriculum(theta=-1) em(alpha=-1) em-apl(alpha=-1)
    em-apl(beta=-1) em-apl(epochs=1) em-apl(share=1.5) em-apl(warmup=10) en(expected=0) ep(mu=1)
    epr(expected=much) fe(pos_weight=-1) focal(alpha=1) focal(gamma=-1) focal(gamma=1000)
    imcl(atoms=0) imcl(c=0) imcl(threshold=-1) latent-noise(invented=1) latent-noise(ratio=0)
    ll-ct(delta=100.5) ll-cp(k_of=all) ll-r(delta=-1) ll-r-abs(delta=-1)
    ll-r-abs(min_threshold=-1) ll-r-abs(r0=-1) ls-constant(pos_weight=0)
    ls-constant(temperature=0) lsan(epsilon=0.5) p-asl(alpha_neg=2e6) p-asl(clip=1)
    p-asl(gamma_unknown=-1) partial-bce(alpha_pos=-1) partial-bce(clip=1)
    partial-bce(gamma_pos=101) role(expected=0) role(ratio=-1) se(beta=-1) se(distance=l1)
    se(pos_weight=0) se-i(k=0) se-l(gamma=-0.1) se-l(k=3)
"""


@pytest.mark.parametrize("spec", IMPOSSIBLE.split())
def test_impossible_settings_are_refused_by_name(spec):
    name, key = re.search(r"([a-z-]+)\((\w+)=", spec).groups()
    with pytest.raises(BadInput, match=rf"{name}.*\b{key}\b"):
        make(spec)


@every
def test_aids_are_built_once(spec):
    method, task = make(spec), task_for(spec, 0)
    assert prepare(task, method) is task
    kinds = [type(aid) for aid in task.aids]
    assert kinds == list(method.needs.aids)
    again = task_of(method, task.labels.rows(np.arange(N)))
    assert [aid.id for aid in again.aids] == [aid.id for aid in task.aids]


@every
def test_bfloat16_outputs_give_a_finite_loss_and_float32_selections(spec):
    method, _, codes, state = ready(spec)
    steps(method, state, codes)
    batch = batch_of(codes, torch.arange(N))
    exact, rough = outputs(1), outputs(1, dtype=torch.bfloat16)
    with torch.autocast("cpu", torch.bfloat16):
        loss = method.loss(batch, rough, state)
        loss.backward()
    assert torch.isfinite(rough.maps.grad).all()
    torch.testing.assert_close(loss.float(), method.loss(batch, exact, state), atol=1e-2, rtol=3e-2)
    if not method.needs.maps:
        given = rough.logits.detach()
        wide = Outputs(given.float(), None, rough.features)
        chosen = method.selected(batch, Outputs(given, None, rough.features), state)
        assert torch.equal(chosen, method.selected(batch, wide, state))


@every
def test_the_spelling_gives_the_method_back(spec):
    method = make(spec)
    assert make(spell(method)) == method and hash(make(spell(method))) == hash(method)
    assert copy.copy(method) == method


@every
def test_the_loop_trains_it_and_it_is_read_back(spec, tmp_path):
    method, task = make(spec), task_for(spec, 0)
    settings = Settings(epochs=2, batch_size=B)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        one = train(task, method, settings=settings)
        both = train_stack([(task, make("ignore")), (task, method)], settings=settings)
    values = [trained.scores(task.inputs) for trained in (one, both[1])]
    assert np.isfinite(values[0]).all()
    np.testing.assert_allclose(*values, atol=1e-5, rtol=1e-4)
    one.save(tmp_path)
    np.testing.assert_array_equal(Trained.load(tmp_path).scores(task.inputs), values[0])


def test_every_method_says_what_it_is():
    for name in names():
        part = get(name)
        assert part.title and part.source and part.__doc__ and part.family, name
        assert part.look is None or len(part.look) == 2, name
        assert not (part.unknown_as_absent and part.known_alone), name


@dataclass(frozen=True)
class PlugIn(Method):
    name: ClassVar[str] = "plug-in"


def test_a_wrapper_answers_for_its_inner_method():
    inner = make("asl")
    facts = ("focal", inner.look, True, False)
    for method in (inner, make("asl+cl+boostlu(alpha=2)"), copy.copy(make("asl+cl"))):
        assert (
            method.family, method.look, method.unknown_as_absent, method.known_alone
        ) == facts  # fmt: skip
    wrapped = ConsistencyLoss(PlugIn())
    assert (wrapped.family, wrapped.look, wrapped.unknown_as_absent) == ("others", None, False)
    assert make("ignore+scl").known_alone


def test_the_package_has_its_public_names():
    assert set(methods.__all__) <= set(dir(methods))
