// Commands for the views: filter, search, load more, follow the leaf.
import * as vscode from "vscode";
import { type Filter, FILTERS } from "../model/tree.ts";
import { pickSession, searchSessions } from "../picker.ts";
import { change, showAutomated } from "../settings.ts";
import { showStatusMessage } from "../userMessages.ts";
import { parseTarget } from "../transcript/messages.ts";
import { type MoreElement, sessionTarget } from "../views/elements.ts";
import { openSession } from "./opening.ts";
import type { Command, Views } from "./target.ts";

const FILTER_DESCRIPTIONS: Readonly<Record<Filter, string>> = {
  default: "without settings, labels and empty turns",
  noTools: "like default, without tool results",
  userOnly: "messages of the user",
  labeledOnly: "entries with a label",
  all: "all entries",
};

export function viewCommands(views: Views): Record<string, Command> {
  const { tree, sessions, current, transcripts } = views;
  const show = async (filter?: Filter, query?: string): Promise<void> => {
    const { model } = tree;
    await tree.setView(filter ?? model?.filter ?? "default", query ?? model?.query ?? "");
  };
  return {
    "sessiond.openSession": async (argument) => {
      const sessionId = sessionTarget(argument);
      return sessionId === undefined ? pickSession(views) : openSession(views, sessionId);
    },
    "sessiond.showTranscript": async (argument) => {
      const { sessionId } = current;
      const target = parseTarget(argument) ?? (sessionId === undefined ? undefined : { sessionId, preserveFocus: false });
      return target && transcripts.show(target);
    },
    "sessiond.searchSessions": async () => searchSessions(views),
    "sessiond.tree.chooseFilter": async () => {
      const present = tree.model?.filter;
      const chosen = await vscode.window.showQuickPick(
        FILTERS.map((filter) => ({
          label: filter,
          description: FILTER_DESCRIPTIONS[filter],
          iconPath: new vscode.ThemeIcon(filter === present ? "check" : "blank"),
        })),
        { title: "Filter Entries", placeHolder: "Which entries the Tree shows" },
      );
      return chosen && show(chosen.label);
    },
    "sessiond.tree.clearFilter": () => show("default"),
    "sessiond.tree.search": async () => {
      const query = await vscode.window.showInputBox({
        title: "Search in Tree",
        prompt: "Show only entries with all of these words. Empty shows all entries.",
        value: tree.model?.query ?? "",
      });
      return query === undefined ? undefined : show(undefined, query.trim());
    },
    "sessiond.tree.clearSearch": () => show(undefined, ""),
    "sessiond.tree.showAll": () => show("default", ""),
    "sessiond.tree.follow": () => change("tree.follow", true),
    "sessiond.tree.unfollow": () => change("tree.follow", false),
    "sessiond.tree.refresh": async () => tree.model?.load(),
    "sessiond.tree.goToLeaf": async () => {
      const tip = tree.model?.rows.tip;
      if (tip !== undefined) {
        await tree.reveal(tip.id);
      } else if (tree.model !== undefined) {
        await tree.model.load();
        const leaf = tree.model.rows.tip;
        return leaf && tree.reveal(leaf.id);
      }
      return undefined;
    },
    "sessiond.tree.goToParent": async () => {
      const { model, target } = tree;
      const parentId = target && model?.rows.get(target.entryId)?.parentId;
      return parentId ? tree.reveal(parentId) : showStatusMessage("This entry has no parent.");
    },
    "sessiond.tree.more": async (argument) =>
      (argument as { kind?: unknown } | undefined)?.kind === "earlier" ? tree.model?.loadEarlier() : tree.model?.loadLater(),
    "sessiond.sessions.refresh": () => sessions.refresh(),
    "sessiond.sessions.more": async (argument) => {
      const { kind } = (argument ?? {}) as { kind?: unknown };
      return kind === "more" ? sessions.loadMore(argument as MoreElement) : undefined;
    },
    "sessiond.sessions.filter": async () => {
      const query = await vscode.window.showInputBox({
        title: "Filter Sessions",
        prompt: "Words in the id, title, first prompt or folder. Empty shows all sessions.",
        value: sessions.query,
      });
      return query === undefined ? undefined : sessions.filter(query.trim());
    },
    "sessiond.sessions.clearFilter": () => sessions.filter(""),
    "sessiond.sessions.showAutomated": () => showAutomated(true),
    "sessiond.sessions.hideAutomated": () => showAutomated(false),
  };
}
