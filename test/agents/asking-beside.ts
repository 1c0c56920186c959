import { buildAsking, type AskingSpec } from './asking-graphs.ts';

const question = { kind: 'ask', text: 0, isKeyed: false, isFickle: false, isUrgent: false } as const;
const nap = { kind: 'sleep', ms: 20 } as const;

/** Nodes that ask side by side, and sleep. */
export const spec: AskingSpec = [
  { kind: 'leaf', acts: [{ ...question, isUrgent: true }, question, { ...question, text: 1 }] },
  {
    kind: 'leaf',
    acts: [
      { ...question, isFickle: true },
      { ...question, text: 1, isKeyed: true, isFickle: true },
    ],
  },
  { kind: 'fan', acts: [question, nap], count: 2 },
  { kind: 'sub', steps: [[[{ ...question, isFickle: true }], []], [[{ ...question, isUrgent: true }]]] },
  { kind: 'leaf', acts: [nap] },
  { kind: 'leaf', acts: [] },
];

export const graph = buildAsking(spec);
