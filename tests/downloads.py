"""What a project downloads, so that tests start projects without a connection."""

import os
from pathlib import Path


def network() -> None:
    """Put untrained weights where torch looks for those of mobilenet_v2 that it has downloaded."""
    from torchvision.models import MobileNet_V2_Weights, mobilenet_v2

    name = Path(MobileNet_V2_Weights.DEFAULT.url).name
    file = Path(os.environ["TORCH_HOME"], "hub", "checkpoints", name)
    if not file.exists():
        import torch

        file.parent.mkdir(parents=True, exist_ok=True)
        torch.save(mobilenet_v2().state_dict(), file)
