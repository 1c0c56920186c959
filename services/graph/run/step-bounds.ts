import { bytesOfTexts, bytesOver, sizes } from '@agent-workflow/kit/sizes';
import type { CallBlock } from '@agent-workflow/protos/message';
import { RunFailure } from '../state/failure.ts';

/** What is stored with the commit of a step for the next one, or is shown to the caller, beside fields and messages. */
interface Rest {
  /** The bytes of the continuation as JSON. */
  readonly continuationBytes: number;
  /** The bytes of the open questions as JSON, when the run ends with them. */
  readonly questionBytes: number;
  readonly questionIds: readonly string[];
  readonly calls?: readonly Pick<CallBlock, 'id' | 'name'>[];
  readonly next: readonly string[];
}

const fewerQuestions = 'let fewer branches wait for an answer at a time';

/** @throws RunFailure that names the nodes of the step, the bound, and what helps, when a commit of the step would exceed a size limit. */
export function refuseLargeRest(nodes: readonly string[], rest: Rest): void {
  const { continuationBytes, questionBytes, questionIds, calls = [], next } = rest;
  const bounds = [
    {
      what: 'the inputs of branches, the questions, the states of sub-graphs and the held results that are kept between two steps',
      ...{ bytes: continuationBytes, bound: sizes.progress },
      help: 'send smaller inputs, as ids of what the branches read by themselves, ask shorter questions, or return less beside nodes that wait',
    },
    {
      what: 'the open questions together',
      ...{ bytes: questionBytes, bound: sizes.progress },
      help: `ask shorter questions, or ${fewerQuestions}`,
    },
    { what: 'the ids of open questions', bytes: bytesOfTexts(questionIds), bound: sizes.waiting, help: fewerQuestions },
    {
      what: 'the open tool calls',
      ...{ bytes: bytesOfTexts(calls.flatMap(({ id, name }) => [id, name])), bound: sizes.waiting },
      help: 'let the model make fewer calls at a time',
    },
    {
      what: 'the names of the next nodes',
      ...{ bytes: bytesOfTexts(next), bound: sizes.waiting },
      help: 'give the nodes shorter names',
    },
  ];
  const exceeded = bounds.find(({ bytes, bound }) => bytes > bound);
  if (!exceeded) return;
  const { what, bytes, bound, help } = exceeded;
  const why = `${placeOf(nodes)}${what} have ${bytesOver(bytes, bound)}: ${help}`;
  const [only] = nodes;
  throw new RunFailure('NodeFailed', why, nodes.length === 1 && only !== undefined ? { node: only } : {});
}

const maxNames = 5;

function placeOf(nodes: readonly string[]): string {
  if (nodes.length === 0) return '';
  const names = nodes.slice(0, maxNames).map((name) => `"${name}"`);
  return `${nodes.length === 1 ? 'node' : 'nodes'} ${names.join(', ')}${nodes.length > maxNames ? ' …' : ''}: `;
}
