"""The layout of the screen as Textual's style sheet; `-ascii` is for terminals without box characters."""

CSS = """
Screen { layout: vertical; }
Bar, .bar { height: 1; width: 1fr; }
#middle { height: 1fr; layout: vertical; }
#middle.-wide { layout: horizontal; }
TreeView, Pane, Sessions, BoardView {
    height: 1fr; width: 1fr; scrollbar-size: 1 1; overflow-x: hidden;
    scrollbar-background: ansi_default; scrollbar-background-hover: ansi_default;
    scrollbar-background-active: ansi_default; scrollbar-color: ansi_bright_black;
    scrollbar-color-hover: ansi_bright_black; scrollbar-color-active: ansi_green;
}
Pane { border-top: solid ansi_bright_black; }
Pane:focus { border-top: solid ansi_green; }
#middle.-wide Pane { border-top: none; border-left: solid ansi_bright_black; padding-left: 1; }
#middle.-wide Pane:focus { border-left: solid ansi_green; }
PromptBar { height: 1; display: none; }
PromptBar.-open { display: block; }
PromptBar Static { width: auto; max-width: 60%; height: 1; }
PromptBar Input { width: 1fr; height: 1; }
ModalScreen { align: center middle; }
HelpScreen Pane { width: 80%; height: 80%; border: solid ansi_bright_black; }
Picker Vertical { width: 90%; height: 80%; border: solid ansi_bright_black; }
Picker Input { height: 1; }
.-ascii TreeView, .-ascii Pane, .-ascii Sessions, .-ascii BoardView { scrollbar-size: 0 0; }
.-ascii Pane { border-top: ascii ansi_bright_black; }
.-ascii #middle.-wide Pane { border-top: none; border-left: ascii ansi_bright_black; }
.-ascii HelpScreen Pane, .-ascii Picker Vertical { border: ascii ansi_bright_black; }
"""
