import { runStatuses } from '@agent-workflow/protos/lists';
import { spanKinds, spanStatuses, type SpanKind, type SpanStatus } from '@agent-workflow/protos/run-trace';
import { Type } from '../../common/builders.ts';
import { Checkpoint } from './checkpoints.ts';
import { count, described, flag, Json, nullable, objectOf, runId, text, threadId, time, words } from './common.ts';
import { tokens } from './usage.ts';

/** Steps of one reply. */
const mostSteps = 200;
const usualSteps = 50;

export const TraceQuery = Type.Object({
  limit: Type.Integer({
    minimum: 1,
    default: usualSteps,
    description: `The most steps of the reply; above ${String(mostSteps)} it counts as ${String(mostSteps)}. A reply also ends at 1 MiB of what is recorded, and at some 4 MiB of spans.`,
  }),
  after: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER - 1,
      description:
        'The number of the last step that was seen, as `next_after` says. Default: from the first that is kept',
    }),
  ),
});

const kindMeanings: Readonly<Record<SpanKind, string>> = {
  step: 'a step of the run; within a node, a step of the sub-graph that the node is',
  node: 'a node of the graph',
  branch: 'one branch of a fan-out',
  attempt: 'an attempt at a node, where there was more than one',
  model: 'a question to a model and its answer',
  tool: 'a tool call',
  takeover: 'a moment: another worker took the run over, and began the step anew',
};

const statusMeanings: Readonly<Record<SpanStatus, string>> = {
  running: 'it is under way',
  completed: 'it has ended',
  failed: 'it has failed',
  waiting: 'it asked a question, or waits for tools of the caller',
  sleeping: 'it sleeps, and begins again then',
  stopped: 'it was ended from outside before its own end',
};

const SpanError = objectOf('SpanError', 'Why a span failed, as the caller of the run may read it.', {
  message: text('What was wrong'),
  code: Type.Optional(text('The code of the failure, where it ended the run')),
  reason: Type.Optional(text('Why the code of the agent failed, as a word')),
});

const SentRange = objectOf('SentRange', 'A part of the context, both ends included.', {
  from: text('The id of its first message'),
  to: text('The id of its last message'),
  count: count('How many messages it has'),
});

const SentMessages = objectOf('SentMessages', 'The messages that a model was sent.', {
  count: count('How many they were'),
  ranges: Type.Array(SentRange, { description: 'Those of the context that the step began with, the oldest first' }),
  other: count('How many were made for this call alone, or could not be named'),
});

const SpanOutput = objectOf('SpanOutput', 'What a node or a branch has given.', {
  message_ids: Type.Array(text('The id of a message'), { description: 'The first 32 of its messages' }),
  messages: count('How many messages it has given'),
  fields: Type.Array(text('The name of a field'), { description: 'The fields that it has changed' }),
});

const TraceLogLine = objectOf('TraceLogLine', 'A line that code of the agent has logged.', {
  at: time('When it was logged'),
  level: text('`debug`, `log`, `info`, `warn` or `error`'),
  text: text('The line'),
});

const ThrownError = objectOf('ThrownError', 'What the code has thrown.', {
  name: text('Its class'),
  message: text('Its message'),
  stack: Type.Optional(text('Where it was thrown')),
});

const SpanUsage = objectOf('SpanUsage', 'The tokens of a span and of all within it.', tokens);

const SpanContent = objectOf(
  'SpanContent',
  'What only operators see of a span: it is recorded where `TRACE_CONTENT` is on. At most 64 KiB a span and 4 MiB a run.',
  {
    instructions: Type.Optional(text('What the model was sent beside the messages')),
    tools: Type.Optional(Type.Array(text('The name of a tool'), { description: 'The tools that it was offered' })),
    sent: Type.Optional(Type.Array(Json, { description: 'The messages that are in no thread' })),
    input: Type.Optional(described(Json, 'What a branch or a call was given, where no message has it')),
    output: Type.Optional(described(Json, 'What a model, a node or a call has given, where no message has it')),
    error: Type.Optional(described(ThrownError, 'Why it failed, as the code has thrown it')),
    logs: Type.Optional(Type.Array(TraceLogLine, { description: 'What the code has logged, the oldest first' })),
    cut: Type.Optional(
      Type.Unsafe<Record<string, number>>({
        type: 'object',
        additionalProperties: count('The bytes that the member had'),
        description: 'The members that were cut',
      }),
    ),
  },
);

const TraceSpan = objectOf('TraceSpan', 'A part of a run: what it was, when, and how it ended.', {
  id: text(
    'Its id within the run: that of step 3 is `s3`, and within that step `s3.1`, `s3.2` in the order in which they began',
  ),
  parent_id: described(
    nullable(Type.String()),
    'The span that it is part of, which stands before it; `null` for a step of the run and a takeover',
  ),
  kind: words(spanKinds, { description: 'What it is', meanings: kindMeanings }),
  name: text(
    'The node, the tool, or the model as its provider names it; of a step its nodes. Empty where it is not known',
  ),
  step: count('The number of the step of the run, from 0'),
  inner_step: Type.Optional(count('Of a step within a node: its number in the sub-graph, from 1')),
  attempt: Type.Optional(
    count('Of an attempt: its number, from 1. Of a step of the run and of a takeover: that of the attempt at the step'),
  ),
  branch: Type.Optional(count('Of a branch: its index in the fan-out')),
  started_at: time('When it began'),
  ended_at: described(nullable(time('')), 'When it ended; `null` while it is under way. ISO 8601, UTC'),
  status: words(spanStatuses, { description: 'How it ended', meanings: statusMeanings }),
  replayed: Type.Optional(flag('Whether its result came from the record: its code did not run')),
  usage: Type.Optional(described(SpanUsage, 'The tokens that it has taken; absent where none were reported')),
  finish_reason: Type.Optional(text('Of a model: why its answer ended')),
  error: Type.Optional(described(SpanError, 'Why it failed')),
  checkpoint_id: Type.Optional(text('Of a step of the run: the checkpoint that it made')),
  next: Type.Optional(described(Checkpoint.properties.next, 'Of a step of the run: the nodes that were to run next')),
  call_id: Type.Optional(
    text('Of a tool: the id of the call, in whose message its arguments stand, and in whose result what it gave'),
  ),
  message_id: Type.Optional(text('Of a model: the message that its answer became')),
  sent: Type.Optional(described(SentMessages, 'Of a model: the messages that it was sent')),
  output: Type.Optional(described(SpanOutput, 'Of a node and a branch: what it has given')),
  memory_ids: Type.Optional(
    Type.Array(text("The id of a memory; of one that is not the owner's own `SCOPE/ID`"), {
      description: 'The first 32 memories that its searches of the memory store have found, each once',
    }),
  ),
  omitted: Type.Optional(count('Of a step of the run: how many more spans it had, which are not kept')),
  content: Type.Optional(described(SpanContent, 'What is for operators alone; absent where it was not recorded')),
  content_lost: Type.Optional(flag('Whether it had content for which there was no room')),
});

export const RunTrace = objectOf('RunTrace', 'What went on in a run.', {
  run_id: runId,
  thread_id: threadId,
  status: Type.Unsafe<(typeof runStatuses)[number]>({
    type: 'string',
    enum: [...runStatuses],
    description: 'The status of the run',
  }),
  created_at: time('When the run was accepted'),
  ended_at: described(nullable(time('')), 'When it ended; `null` before. ISO 8601, UTC'),
  shows_content: flag('Whether this service shows `content` of spans, where it was recorded'),
  spans: Type.Array(TraceSpan, { description: 'The spans of the steps of this reply, each behind its parent' }),
  has_more: flag('Whether there are more steps: continue with `after`'),
  next_after: described(
    nullable(Type.Integer({ minimum: 0 })),
    'The `after` with which to continue, also later while the run goes on; `null` before its first step was committed',
  ),
});

const MaskedSpanError = objectOf('MaskedSpanError', 'Why a span failed, without contents.', {
  ...SpanError.properties,
  message: described(nullable(Type.String()), 'Always `null`: the text of an error is no part of it'),
});

/** With `dedupe` the id of a memory is made of what it says: who guesses that could see it by the id. */
const { memory_ids: _memories, ...maskedSpan } = TraceSpan.properties;

const MaskedSpan = objectOf('MaskedSpan', 'A part of a run, without contents.', {
  ...maskedSpan,
  error: Type.Optional(described(MaskedSpanError, 'Why it failed')),
});

export const MaskedTrace = objectOf('MaskedTrace', 'What went on in a run of somebody, without contents.', {
  ...RunTrace.properties,
  spans: Type.Array(MaskedSpan, { description: 'The spans of the steps of this reply, each behind its parent' }),
});
