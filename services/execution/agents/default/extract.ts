import { textOf, type Message } from '@agent-workflow/graph';

const linesKept = 40;
const charactersOfLine = 120;

/** Summarises without a model: the first sentence of each message of the user is a line; the oldest lines are dropped. */
export function extractSummary(messages: readonly Message[], previousSummary: string): string {
  const sentences = messages.filter(({ role }) => role === 'user').map((message) => firstSentence(textOf(message)));
  const lines = sentences.filter((sentence) => sentence !== '').map((sentence) => `- user: ${sentence}`);
  const before = previousSummary === '' ? [] : previousSummary.split('\n');
  return [...before, ...lines].slice(-linesKept).join('\n');
}

function firstSentence(text: string): string {
  const [sentence = ''] = text.trim().split(/(?<=[.!?])\s|\n/, 1);
  const characters = Array.from(sentence.slice(0, 2 * (charactersOfLine + 1)));
  if (characters.length <= charactersOfLine) return sentence;
  return `${characters.slice(0, charactersOfLine - 1).join('')}…`;
}
