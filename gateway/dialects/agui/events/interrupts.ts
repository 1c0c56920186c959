import { addressedOf, type Addressed } from '@agent-workflow/protos/addressed';

/** A question as a run has it. */
export interface Question extends Addressed {
  readonly id: string;
  readonly node: string;
  readonly value: unknown;
  /** ISO 8601: until then it may be answered. */
  readonly deadline?: string;
}

type Fields = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The names under which authors put the text of a question. */
const textNames = ['message', 'question', 'prompt'];

/**
 * A question as AG-UI has it; `undefined` for a stop before or after a node, which asks nothing. The whole value stands in its metadata. One that its owner may
 * not answer has no form: others are asked.
 */
export function toInterrupt({ id, node, value, deadline, ...asked }: Question): object | undefined {
  const own: Fields = isObject(value) ? value : {};
  if ('breakpoint' in own && 'nodes' in own) return undefined;
  const text =
    typeof value === 'string' ? value : textNames.map((name) => own[name]).find((each) => typeof each === 'string');
  const { schema, reason } = own;
  return {
    ...{ id, reason: typeof reason === 'string' ? reason : 'input_required' },
    ...(text !== undefined && { message: text }),
    ...(isObject(schema) && asked.not_owner !== true && { responseSchema: schema }),
    ...(deadline !== undefined && { expiresAt: deadline }),
    metadata: { node, value, ...addressedOf(asked) },
  };
}
