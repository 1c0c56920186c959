import type { AguiEvent } from './framing.ts';
import type { Question } from './interrupts.ts';

/** How a run ended in which sub-agents were at work. */
type RunEnd =
  | { readonly failure: { readonly message: string; readonly code: string } }
  | { readonly questions: readonly Pick<Question, 'id' | 'node'>[] };

/**
 * The sub-agents of a run: the nodes that are graphs themselves. Each time that one begins it has an id of its own, which depends on the events of the
 * run alone. Those within a sub-agent are a part of it.
 */
export function createSubagents(runId: string, subgraphs: ReadonlySet<string>) {
  const active = new Map<string, string>();
  /** Of each node, the last. */
  const last = new Map<string, string>();
  const counts = new Map<string, number>();

  return {
    /** The sub-agent that a node is, or was when it ran last. */
    of: (node: string | undefined): string | undefined => (node === undefined ? undefined : last.get(node)),
    begin: (name: string, timestamp: number): AguiEvent[] => {
      if (!subgraphs.has(name) || active.has(name)) return [];
      const count = (counts.get(name) ?? 0) + 1;
      const subagentRunId = `${runId}/${name}/${String(count)}`;
      counts.set(name, count);
      active.set(name, subagentRunId);
      last.set(name, subagentRunId);
      return [{ type: 'SUBAGENT_STARTED', timestamp, subagentRunId, name }];
    },
    finish: (name: string, timestamp: number): AguiEvent[] => {
      const subagentRunId = active.get(name);
      active.delete(name);
      return subagentRunId === undefined
        ? []
        : [{ type: 'SUBAGENT_FINISHED', timestamp, subagentRunId, outcome: { type: 'success' } }];
    },
    /** Ends those that are at work when their run ends: one that waits may be continued by a later run, under an id of its own. */
    end: (how: RunEnd, timestamp: number): AguiEvent[] => {
      const events = [...active].map(([name, subagentRunId]): AguiEvent => {
        if ('failure' in how) return { type: 'SUBAGENT_ERROR', timestamp, subagentRunId, ...how.failure };
        const interruptIds = how.questions.filter(({ node }) => node === name).map(({ id }) => id);
        return { type: 'SUBAGENT_FINISHED', timestamp, subagentRunId, outcome: { type: 'suspended', interruptIds } };
      });
      active.clear();
      return events;
    },
  };
}
