import type { Agent, AgentItem } from '@agent-workflow/client';

/** A message that a new chat offers. */
export interface Starter {
  /** What the button says. */
  readonly title: string;
  /** What it leads to, in a few words; absent where the title says it. */
  readonly about?: string;
  /** What it puts into the box. */
  readonly text: string;
}

const maxStarters = 4;
const maxText = 200;

/**
 * What a new chat offers to begin with: the examples in the description of the agent, which are its items of a list and its quotes; else
 * its tools. Nothing is offered that the agent does not say of itself.
 */
export function startersOf({ description, tools }: Pick<Agent, 'description' | 'tools'>): readonly Starter[] {
  const examples = examplesIn(description ?? '').map((text) => ({ title: text, text }));
  const own = tools.map(({ name, description: about }) => ({
    ...{ title: `Use ${name}`, text: `Use ${name}: ` },
    about: firstSentence(about),
  }));
  return (examples.length > 0 ? examples : own).slice(0, maxStarters);
}

/** The items and the quotes of a description. */
function examplesIn(description: string): readonly string[] {
  const items = description
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line.startsWith('- ') || line.startsWith('* '))
    .map((line) => unquoted(line.slice(2).trim()));
  const found = items.length > 0 ? items : quotesIn(description);
  return [...new Set(found)].filter((text) => text !== '' && text.length <= maxText);
}

const quotes = [
  ['“', '”'],
  ['"', '"'],
] as const;

function quotesIn(text: string): readonly string[] {
  for (const [open, close] of quotes) {
    const found: string[] = [];
    for (let from = text.indexOf(open); from !== -1;) {
      const to = text.indexOf(close, from + 1);
      if (to === -1) break;
      found.push(text.slice(from + 1, to).trim());
      from = text.indexOf(open, to + 1);
    }
    if (found.length > 0) return found;
  }
  return [];
}

const unquoted = (text: string): string =>
  quotes.some(([open, close]) => text.length > 1 && text.startsWith(open) && text.endsWith(close))
    ? text.slice(1, -1)
    : text;

/** What an agent is, in a sentence: its own words without its list of examples, else the names of its tools. */
export function sentenceOf({ description, tools }: Pick<AgentItem, 'description' | 'tools'>): string {
  const words = (description ?? '')
    .split('\n')
    .filter((line) => !/^\s*[-*] /.test(line))
    .join('\n')
    .trim();
  if (words !== '') return words;
  if (tools.length === 0) return 'It has no description and no tools. Write to it to see what it does.';
  const names = tools.slice(0, 6).join(', ');
  return `It has no description. Its ${tools.length === 1 ? 'tool is' : 'tools are'} ${names}${tools.length > 6 ? ' and others' : ''}.`;
}

function firstSentence(text: string): string {
  const end = text.indexOf('. ');
  return (end === -1 ? text : text.slice(0, end + 1)).slice(0, maxText);
}
