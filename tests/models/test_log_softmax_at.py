import pytest
import torch

from accord.models.gpu.kernels import log_softmax_at


@pytest.mark.parametrize("asked", [1, 4])
def test_it_is_the_log_softmax_and_so_is_its_gradient(asked):
    torch.manual_seed(asked)
    logits = torch.randn(6, 9, dtype=torch.float64, requires_grad=True)
    classes = torch.randint(9, (6, asked))
    weights = torch.randn(6, asked, dtype=torch.float64)
    found, expected = log_softmax_at(logits, classes), logits.log_softmax(1).gather(1, classes)
    assert torch.allclose(found, expected, atol=1e-12)
    gradients = [torch.autograd.grad(each, logits, weights)[0] for each in (found, expected)]
    assert torch.allclose(*gradients, atol=1e-12)


def test_a_class_may_be_as_good_as_impossible_or_have_no_mass():
    logits = torch.tensor([[0.0, -200.0, -torch.inf]], requires_grad=True)
    found = log_softmax_at(logits, torch.tensor([[1, 2]]))
    assert found.tolist() == [[-200.0, -torch.inf]]
    found[0, 0].backward()
    assert logits.grad.tolist() == [[-1.0, 1.0, 0.0]]


def test_a_second_derivative_is_refused_rather_than_wrong():
    logits = torch.randn(2, 3, requires_grad=True)
    found = log_softmax_at(logits, torch.tensor([[0], [1]])).sum()
    (gradient,) = torch.autograd.grad(found, logits, create_graph=True)
    with pytest.raises(RuntimeError, match="does not require grad"):
        gradient.sum().backward()
