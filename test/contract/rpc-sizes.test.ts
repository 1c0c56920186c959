import test from 'ava';
import { EventWriter } from '@agent-workflow/execution/events/event-writer';
import { toInvokeResult, type Outcome } from '@agent-workflow/execution/events/outcome';
import { pageBytes } from '@agent-workflow/kit/pages';
import { runOptionsBytes, sizes } from '@agent-workflow/kit/sizes';
import type { RemoteTool, RunEvent, StartRequest } from '@agent-workflow/protos/execution';
import type { Message } from '@agent-workflow/protos/message';
import type {
  AcceptRunReply,
  AcceptRunRequest,
  ClaimedRun,
  CommitStepRequest,
  GetCheckpointReply,
  MessageEntry,
  OpenCall,
  RunEnd,
  State,
  StepTrace,
  StepWork,
  WriteStateRequest,
} from '@agent-workflow/protos/threads';
import { spansBytes, stepContentBytes } from '@agent-workflow/protos/run-trace';
import { definitionOf } from '@agent-workflow/protos/wire/definitions';

/** Every field is there: one that is new to a message has no sample here until it is given its bound. */
type Whole<T> = { readonly [K in keyof T]-?: NonNullable<T[K]> };

/** An id has 256 characters, of up to three bytes of UTF-8 each. */
const idBytes = 3 * 256;
const id = 'x'.repeat(idBytes);
const name = 'x'.repeat(3 * 1024);
const idCount = Math.floor(sizes.waiting / idBytes);
const ids = Array.from({ length: idCount }, () => id);
const openCalls: OpenCall[] = Array.from({ length: idCount / 2 }, () => ({ callId: id, name: id }));
const large = Number.MAX_SAFE_INTEGER;

const json = (size: number): Uint8Array => new Uint8Array(size);

/** As many messages as a request holds, together as large as they may be. */
const input: readonly MessageEntry[] = Array.from({ length: sizes.messages }, () => ({
  messageId: id,
  json: json(Math.floor(sizes.input / sizes.messages) - idBytes),
}));

const state: Whole<State> = {
  version: large,
  fields: { ['x'.repeat(256)]: json(sizes.state) },
  contextJson: json(sizes.contextWithInput + 1),
  contextTruncated: true,
  agent: id,
};

const end: Whole<RunEnd> = {
  ...{ status: 'interrupted', iterations: large, recursionLimitReached: true, undone: true },
  error: { code: 'Internal', message: 'x'.repeat(64 * 1024), node: id },
  interruptsJson: 'x'.repeat(sizes.progress),
};

const claimed: Whole<ClaimedRun> = {
  ...{ runId: id, threadId: id, requestId: id, granularity: 'partial', isNewThread: true, workerId: id },
  ...{ epoch: large, step: large, attempt: large, previousVersion: large, version: large },
  optionsJson: json(runOptionsBytes),
  state,
  appended: [...input, ...openCalls].map(() => ({ messageId: id, json: new Uint8Array() })),
  ...{ next: ids, openCalls, unmatchedAnswers: ids },
  ...{ resumes: id, replaced: true, isTakeover: true, lastClaim: true, resumeUnmatched: true, nextRunId: id },
  ...{ outputJson: json(pageBytes), outputIsPartial: true, outputReplyJson: json(sizes.message) },
  ...{ progressJson: json(sizes.progress), usageJson: 'x'.repeat(sizes.usage) },
  ...{ wakeAt: large, now: large },
  givenUp: end.error,
  ...{ agent: id, otherAgent: id, revision: id, otherRevision: id, nextRevision: id },
  grant: { token: 'x'.repeat(2 * (name.length + 4 * idBytes + 100 * sizes.scopes)), forMs: large },
};

const accepted: Whole<AcceptRunReply> = {
  ...{ runId: id, threadId: id, isNewThread: true, status: 'running', runnable: true, stoppedRunId: id },
  claimed,
  ...{ otherAgent: id, agent: id, revision: id, otherRevision: id, existed: true, createdAt: large },
};

const accept: Whole<AcceptRunRequest> = {
  ...{ owner: name, threadId: id, runId: id, requestId: id, threadName: name, attemptId: id },
  ...{ granularity: 'partial', multitaskStrategy: 'interrupt', runIdIsNew: true, threadIdIsNew: true },
  ...{ metadataJson: json(sizes.metadata), marksJson: json(sizes.metadata), ttlSeconds: large, checkpointId: id },
  ...{ messages: input, answers: ids, hasNewInput: true },
  optionsJson: json(runOptionsBytes),
  ...{
    claim: { workerId: id, knownVersion: large, revision: id },
    resume: { keys: ids },
    nodes: { names: ids, first: ids },
  },
  ...{
    agent: id,
    agentIsGuess: true,
    checkedRevision: id,
    retryOf: id,
    newestRunId: id,
    priority: 9,
    webhookJson: 'x'.repeat(sizes.webhookTarget),
    mayAnswer: [id],
    deletesThreadAfterMs: large,
    onlyNewThread: true,
  },
};

const work: Whole<StepWork> = {
  ...{ startedAt: large, attempt: large, retries: large, inputTokens: large, outputTokens: large },
};

const trace: Whole<StepTrace> = { spansJson: json(spansBytes + 65_536), contentJson: json(stepContentBytes + 65_536) };

const commit: Whole<CommitStepRequest> = {
  ...{ owner: name, threadId: id, runId: id, attemptId: id, epoch: large, step: large, at: large },
  fields: { ['x'.repeat(256)]: json(sizes.step) },
  ...{ messages: [], replacesMessages: true, nodes: ids, next: ids, openCalls, openInterrupts: ids, ofInput: true },
  removedFromContext: Array.from({ length: Math.floor(sizes.context / (2 * idBytes)) }, () => id),
  ...{ end, wakeAt: large, progressJson: json(sizes.progress), usageJson: 'x'.repeat(sizes.usage), work, trace },
  fused: {
    // Both steps together add as much as one may, which is in the fields above.
    ...{ at: large, messages: [], nodes: ids, next: ids, openCalls, end },
    ...{ progressJson: json(sizes.progress), usageJson: 'x'.repeat(sizes.usage), work, trace },
  },
};

const write: Whole<WriteStateRequest> = {
  ...{ owner: name, threadId: id, expectedVersion: large, skipsNothing: true, onceKey: id, attemptId: id },
  ...{ removedFromContext: ids, settles: true },
  fields: { ['x'.repeat(256)]: json(sizes.state) },
  messages: input,
};

const checkpoint: Whole<GetCheckpointReply> = {
  checkpoint: {
    ...{ checkpointId: id, source: 'rollback', runId: id, step: large, nodes: ids, next: ids, createdAt: large },
    metadataJson: json(sizes.metadata),
    work,
  },
  state,
};

const tool: RemoteTool = { nodeName: id, name: id, description: id, parametersJson: json(sizes.toolsTogether) };

const start: Whole<StartRequest> = {
  ...{ owner: name, threadId: id, runId: id, requestId: id, threadName: name, recursionLimit: large },
  ...{ granularity: 'partial', multitaskStrategy: 'interrupt', runIdIsNew: true, threadIdIsNew: true },
  ...{ threadMetadataJson: json(sizes.metadata), threadMarksJson: json(sizes.metadata) },
  ...{ threadTtlSeconds: large, checkpointId: id },
  messages: input,
  initialStateJson: json(sizes.state),
  configJson: json(sizes.config),
  contextJson: json(sizes.config),
  userJson: json(sizes.metadata),
  knowledgeJson: json(sizes.knowledge),
  resumeJson: json(sizes.resume),
  breakpointsJson: json(sizes.breakpoints),
  requestJson: json(sizes.shownRequest),
  tools: [tool],
  ...{
    agent: id,
    onlyNewThread: true,
    awaitEndMs: large,
    deletesThread: true,
    failsAtLimit: true,
    recordsInput: true,
    removedFromContext: ids,
    streamsSubgraphs: true,
    goesOn: true,
    keepsQuestions: true,
    addressees: ['manager'],
    webhookIsChecked: true,
    retryOf: id,
    newestRunId: id,
    priority: 9,
    webhookJson: 'x'.repeat(sizes.webhookTarget),
    answering: { by: name, client: id, mayAnswer: [id] },
    sender: name,
    shareId: id,
    shareUntil: large,
  },
};

/** A message of this many bytes as JSON. */
const messageOf = (bytes: number): Message => {
  const message = { message_id: id, role: 'assistant' as const, content: [{ type: 'text', text: '' }], timestamp: '' };
  const text = 'x'.repeat(bytes - Buffer.byteLength(JSON.stringify(message)) - 1);
  return { ...message, content: [{ type: 'text', text }] };
};

/** The last event of a run that is asked for all that it can give, each part of it as large as it may be. */
function lastEvent(): RunEvent {
  const writer = new EventWriter({ runId: id, threadId: id, requestId: id, isNewThread: true }, large);
  const summary = 'x'.repeat(sizes.summary);
  const outcome: Outcome = {
    ...{ status: 'interrupted', iterations: large, recursionLimitReached: true },
    added: {
      messages: [messageOf(sizes.message), messageOf(sizes.message)],
      isPartial: true,
      reply: messageOf(sizes.message),
    },
    state: {
      values: { field: 'x'.repeat(sizes.state - sizes.summary), context_summary: summary },
      context: Array.from({ length: sizes.contextWithInput / sizes.message }, () => messageOf(sizes.message)),
    },
    interrupts: [{ id, node: id, value: 'x'.repeat(sizes.progress) }],
    usage: Array.from({ length: 64 }, (_, index) => ({
      model: `${String(index)}${'x'.repeat(250)}`,
      inputTokens: large,
      outputTokens: large,
    })),
  };
  return writer.end(toInvokeResult({ ...claimed, granularity: 'full' }, outcome, 0), 0);
}

const threads = definitionOf('threads');
const execution = definitionOf('execution');

const largest: readonly (readonly [what: string, encoded: () => Buffer | undefined])[] = [
  ['the reply to a claim', () => threads['ClaimRun']?.responseSerialize(claimed)],
  ['the reply to an acceptance that claims', () => threads['AcceptRun']?.responseSerialize(accepted)],
  ['the acceptance of a run', () => threads['AcceptRun']?.requestSerialize(accept)],
  ['the commit of a step', () => threads['CommitStep']?.requestSerialize(commit)],
  ['a state', () => threads['GetState']?.responseSerialize(state)],
  ['a write of a state', () => threads['WriteState']?.requestSerialize(write)],
  ['a checkpoint with its state', () => threads['GetCheckpoint']?.responseSerialize(checkpoint)],
  ['the end of a run', () => execution['Wait']?.responseSerialize(lastEvent())],
  ['the end of a run that is followed', () => execution['Follow']?.responseSerialize({ events: [lastEvent()] })],
  ['the start of a run', () => execution['Start']?.requestSerialize(start)],
];

for (const [what, encoded] of largest) {
  test(`${what} fits into one gRPC message when everything in it is as large as it may be`, (t) => {
    const bytes = encoded()?.byteLength ?? Infinity;
    t.log(`${(bytes / 1024 / 1024).toFixed(1)} MiB of ${String(sizes.rpc / 1024 / 1024)}`);
    t.true(bytes <= sizes.rpc, `${what} has ${String(bytes)} bytes, more than ${String(sizes.rpc)}`);
  });
}
