import type { ToolResult } from './turn.ts';
import { asYou, countShared } from './words.ts';

/** Puts what a tool gave into words. */
export function phraseResult(result: ToolResult): string {
  const phrase = phrases[result.call.name] ?? phraseOther;
  return result.isError ? `That did not work: ${toText(result.output)}.` : phrase(result);
}

const phrases: Readonly<Record<string, (result: ToolResult) => string>> = {
  calculate: ({ call, output }) => `${argument(call.args, 'expression')} = ${toText(output)}`,
  current_time: ({ output }) => {
    const { date, time, time_zone: zone } = output as Readonly<Record<string, unknown>>;
    return `It is ${toText(time)} on ${toText(date)} (${toText(zone)}).`;
  },
  remember: ({ call }) => `I will remember: ${asYou(argument(call.args, 'fact'))}.`,
  recall: ({ call, output }) => {
    const question = argument(call.args, 'query').slice(0, charactersOfQuestion);
    return phraseFacts(question, Array.isArray(output) ? output.slice(0, maxFacts).map(toText) : []);
  },
};

// A caller may write a call and its answer into the thread: neither need be as small as what the tool itself takes and gives.
const charactersOfQuestion = 2000;
const maxFacts = 20;

/** The nearest there is may still have nothing to do with the question: only the facts that share the most words with it are given. */
function phraseFacts(question: string, found: readonly string[]): string {
  const facts = [...new Set(found)].map((fact) => ({ fact, shared: countShared(question, fact) ?? 1 }));
  const most = Math.max(1, ...facts.map(({ shared }) => shared));
  const [first, ...rest] = facts.filter(({ shared }) => shared === most).map(({ fact }) => asYou(fact));
  if (first === undefined) return 'I do not know that: nothing I remember answers it.';
  return rest.length === 0 ? `I remember: ${first}.` : ['I remember:', first, ...rest].join('\n- ');
}

const phraseOther = ({ call, output }: ToolResult): string => `${call.name} answered: ${toText(output)}`;

const argument = (args: unknown, name: string): string =>
  toText((args as Readonly<Record<string, unknown>> | null)?.[name] ?? '');

const toText = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value ?? null));
