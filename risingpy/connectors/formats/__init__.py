"""FORMAT … ENCODE …: messages become rows. `decoder` is what a decoder is, and `choice` finds the one of a source."""
