import { addressedOf, type Addressed } from '@agent-workflow/protos/addressed';

/** A question as the record has it. */
interface Question extends Addressed {
  readonly id: string;
  readonly node: string;
  readonly value: unknown;
}

/** A question as LangGraph's clients read it, with what says that others are asked. */
export interface Interrupt extends Addressed {
  readonly id: string;
  readonly value: unknown;
}

/** The questions in a JSON text. A stop before or after a node asks nothing: it has none in LangGraph, either. */
export const questionsIn = (json: string | undefined): readonly Question[] =>
  json === undefined ? [] : (JSON.parse(json) as readonly Question[]).filter(({ value }) => !isStop(value));

/** The questions in a JSON text; none at a stop before or after a node. `undefined` where a run has ended with neither. */
export const endQuestions = (json: string | undefined): readonly Question[] | undefined =>
  json === undefined ? undefined : questionsIn(json);

const isStop = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && 'breakpoint' in value && 'nodes' in value;

export const toInterrupt = ({ id, value, ...asked }: Question): Interrupt => ({ id, value, ...addressedOf(asked) });

/** Values, an object, with the JSON of the questions that are asked. */
export const withInterrupts = (values: string, json: string): string =>
  `${values === '{}' ? '{' : `${values.slice(0, -1)},`}"__interrupt__":${json}}`;
