"""Run the stages that are not done, here or on another machine."""
