import { answeredCalls, callsOf, isCall, type Message } from '@agent-workflow/protos/message';
import { isRunFailure, type RunFailure } from '../state/failure.ts';
import { mergeOutputs, type Delta, type NodeOutput } from '../state/merge.ts';
import { deepFreeze, type EngineState } from '../state/state.ts';
import type { CompiledGraph } from '../build/graph.ts';
import type { Continuation, Held, NodeResult } from './continuation.ts';
import { resultJson } from './result-json.ts';

type Specs = CompiledGraph['fields'];

/** The messages that nodes of a step, or branches of a node, have put on record before all of them returned. */
export const aheadOf = (all: readonly (Held | undefined)[]): ReadonlySet<string> =>
  new Set(all.flatMap((held) => held?.ahead ?? []));

/**
 * The state as a node sees it that begins again: as it was when its step began, with what callers wrote since and what the node itself has
 * given. `ahead` holds messages of all that run side by side.
 */
export function seenBy(
  fields: Specs,
  state: EngineState,
  ahead: ReadonlySet<string>,
  own: Held | undefined,
): EngineState {
  const shown = ahead.size === 0 ? state : { ...state, context: withoutAhead(state.context, ahead, own?.ahead) };
  return own && own.outputs.length > 0 ? mergeOutputs(fields, shown, own.outputs).state : shown;
}

/** The answers to hidden calls are hidden with them. */
function withoutAhead(
  context: readonly Message[],
  ahead: ReadonlySet<string>,
  own: readonly string[] = [],
): readonly Message[] {
  const shown = new Set(own);
  const isHidden = ({ message_id: id }: Message): boolean => ahead.has(id) && !shown.has(id);
  const calls = new Set(context.filter(isHidden).flatMap(callsOf));
  return context.filter((message) => {
    const answered = answeredCalls(message);
    return !isHidden(message) && (answered.length === 0 || !answered.every((id) => calls.has(id)));
  });
}

/** What a node has given so far, and of it what is to be merged now. */
interface Kept {
  readonly held: Held;
  readonly now: readonly NodeOutput[];
}

/**
 * Holds what a node gave until those beside it return. On record at once are messages by which the record knows calls: those with calls
 * that are open, answers to calls on record, and all before them; of a node that waits, and goes on after them, all.
 */
export function hold(before: Held | undefined, result: NodeResult, node: string): Kept {
  const { outputs, waiting } = result;
  const messages = outputs.flatMap((output) => output.messages);
  const count = waiting ? messages.length : countOnRecord(messages);
  const { now, later } = split(outputs, count);
  const ahead = [...(before?.ahead ?? []), ...now.flatMap((output) => output.messages.map(({ message_id: id }) => id))];
  const plain = later.length === 0 ? later : deepFreeze(toPlain(later, node));
  const made = new Set([...result.streamed, ...(result.streamedBefore ?? [])]);
  const streamed = [
    ...(before?.streamed ?? []),
    ...later.flatMap((output) => output.messages.map(({ message_id: id }) => id)).filter((id) => made.has(id)),
  ];
  const held = {
    done: !waiting,
    outputs: [...(before?.outputs ?? []), ...plain],
    ...(ahead.length > 0 && { ahead }),
    ...(streamed.length > 0 && { streamed }),
  };
  return { held, now };
}

const toPlain = (outputs: readonly NodeOutput[], node: string): readonly NodeOutput[] =>
  (JSON.parse(resultJson({ outputs }, node)) as { readonly outputs: readonly NodeOutput[] }).outputs;

function countOnRecord(messages: readonly Message[]): number {
  const answered = new Set(messages.flatMap(answeredCalls));
  const closed = new Set<string>();
  const isOpen = ({ content }: Message): boolean => content.filter(isCall).some(({ id }) => !answered.has(id));
  for (const message of messages) if (!isOpen(message)) for (const id of callsOf(message)) closed.add(id);
  return messages.findLastIndex((one) => isOpen(one) || answeredCalls(one).some((id) => !closed.has(id))) + 1;
}

/** The outputs with the first `count` messages apart: fields and removals stay behind. */
function split(
  outputs: readonly NodeOutput[],
  count: number,
): { readonly now: readonly NodeOutput[]; readonly later: readonly NodeOutput[] } {
  const now: NodeOutput[] = [];
  const later: NodeOutput[] = [];
  let left = count;
  for (const output of outputs) {
    const { messages, fields, removed } = output;
    const first = messages.slice(0, left);
    left -= first.length;
    const { removed: _, ...bare } = output;
    if (first.length > 0) now.push({ ...bare, fields: {}, messages: first });
    const isEmpty = first.length === messages.length && removed === undefined && Object.keys(fields).length === 0;
    if (!isEmpty) later.push({ ...output, messages: messages.slice(first.length) });
  }
  return { now, later };
}

/** What nodes gave whose step nobody ends any more, because a new message of a user began another one. */
export function heldOutputs(continuation: Continuation | undefined): readonly NodeOutput[] {
  const { held = [], graphs = {}, branches = {} } = continuation ?? {};
  return [
    ...held.flatMap(({ outputs }) => outputs),
    ...Object.entries(graphs).flatMap(([node, position]) =>
      heldOutputs(position.carry).map(({ branch: _, ...output }) => ({ ...output, node })),
    ),
    ...Object.values(branches)
      .flat()
      .flatMap(({ held: own, at }) => [...(own?.outputs ?? []), ...heldOutputs(at)]),
  ];
}

/**
 * Merges what a step held that a new message of a user has ended; fields that only a sub-graph declares end with it. Outputs that do not fit together change nothing, and are
 * reported: the run that begins is not at fault.
 */
export function mergeHeld(
  fields: Specs,
  state: EngineState,
  outputs: readonly NodeOutput[],
  onFault: (failure: RunFailure) => void,
): { readonly state: EngineState; readonly delta: Delta } {
  const declared = outputs.map((output) => ({
    ...output,
    fields: Object.fromEntries(
      Object.entries(output.fields).filter(([name]) => name === 'context_summary' || Object.hasOwn(fields, name)),
    ),
  }));
  try {
    return mergeOutputs(fields, state, declared);
  } catch (error) {
    if (!isRunFailure(error)) throw error;
    onFault(error);
    return mergeOutputs(
      fields,
      state,
      declared.map(({ removed: _, ...output }) => ({ ...output, fields: {} })),
    );
  }
}
