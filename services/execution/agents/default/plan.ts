import type { Known, PlannedCall, Step } from './intent.ts';
import { greeting, readers, readToolCall } from './readers.ts';

/** A whole reply: what to say at once, which tools to call, and what the user is called from now on. */
interface Plan {
  readonly words: string;
  readonly calls: readonly PlannedCall[];
  readonly userName: string;
}

/** Plans a reply to each sentence of the text. */
export function planReply(text: string, known: Known): Plan {
  const steps = toSteps(text.trim(), known);
  return {
    words: [...new Set(steps.flatMap(({ words }) => words ?? []))].join(' '),
    calls: steps.flatMap(({ call }) => call ?? []),
    userName: steps.findLast(({ userName }) => userName !== undefined)?.userName ?? known.userName,
  };
}

function toSteps(text: string, known: Known): readonly Step[] {
  if (text === '') return [{ words: greeting(known) }];
  const toolCall = readToolCall(text, known);
  return toolCall ? [toolCall] : sentencesOf(text).map((sentence) => readSentence(sentence, known));
}

/** The last reader understands everything. */
function readSentence(sentence: string, known: Known): Step {
  for (const read of readers) {
    const step = read(sentence, known);
    if (step) return step;
  }
  return {};
}

/** What comes after so many sentences is not read: each may call a tool. */
const maxSentences = 100;

const joint = /(?<=[.!?])\s+|\n+|,? and (?=what|how|who|when|where|which|tell|remember|calculate)/i;

const sentencesOf = (text: string): readonly string[] =>
  text
    .split(joint, maxSentences)
    .map((sentence) => sentence.trim())
    .filter((sentence) => sentence !== '');
