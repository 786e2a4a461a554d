"""One back end a file: equations in, text or callable out; none knows mechanics."""
