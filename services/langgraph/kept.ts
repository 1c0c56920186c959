import { field } from '@agent-workflow/graph';

/** A value as LangGraph's serializer writes it: JSON, or bytes in base64. */
export type Packed = { readonly json: unknown } | { readonly base64: string };

/** What a task of a super-step wrote, and whose checkpoint is not yet the next one. */
export interface KeptWrite {
  readonly task: string;
  readonly path: string;
  readonly index: number;
  readonly channel: string;
  readonly value: Packed;
}

export interface KeptCheckpoint {
  readonly checkpoint: Packed;
  readonly metadata: Packed;
  readonly writes: readonly KeptWrite[];
}

/** A call of LangGraph's `interrupt` that nobody has answered. */
export interface Question {
  readonly id: string;
  readonly value: unknown;
}

/** What the state keeps of a LangGraph graph between two super-steps. */
export interface Kept {
  readonly version: 1;
  /** The latest checkpoint of each namespace: `''` is the graph, others are sub-graphs. */
  readonly checkpoints: Readonly<Record<string, KeptCheckpoint>>;
  /** The ids that messages have in the thread, by their ids in LangGraph, where the two differ. */
  readonly ids: Readonly<Record<string, string>>;
  readonly questions: readonly Question[];
  /** Whether no node is to run next. */
  readonly isDone: boolean;
}

const packed = {
  oneOf: [
    { type: 'object', required: ['json'] },
    { type: 'object', properties: { base64: { type: 'string' } }, required: ['base64'] },
  ],
};
const write = {
  type: 'object',
  properties: {
    ...{ task: { type: 'string' }, path: { type: 'string' }, index: { type: 'integer' }, channel: { type: 'string' } },
    value: packed,
  },
  required: ['task', 'path', 'index', 'channel', 'value'],
};
const checkpoint = {
  type: 'object',
  properties: { checkpoint: packed, metadata: packed, writes: { type: 'array', items: write } },
  required: ['checkpoint', 'metadata', 'writes'],
};
const question = { type: 'object', properties: { id: { type: 'string' } }, required: ['id', 'value'] };

const schema = {
  type: 'object',
  properties: {
    version: { const: 1 },
    checkpoints: { type: 'object', additionalProperties: checkpoint },
    ids: { type: 'object', additionalProperties: { type: 'string' } },
    questions: { type: 'array', items: question },
    isDone: { type: 'boolean' },
  },
  required: ['version', 'checkpoints', 'ids', 'questions', 'isDone'],
};

export const keptField = field<Kept>({ type: 'object', description: 'The checkpoint of the LangGraph graph', schema });

/** The answers to questions, by their ids. Each is added where it is given; no answers at all take them away. */
export const answersField = field<Readonly<Record<string, unknown>>>({
  type: 'object',
  description: 'Answers to questions of the LangGraph graph',
  default: {},
  reducer: (current, update) => (Object.keys(update).length === 0 ? {} : { ...current, ...update }),
});
