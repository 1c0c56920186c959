import type { Known, PlannedCall, Step } from './intent.ts';
import { greeting, readers, readToolCall } from './readers.ts';

/** A whole reply: what to say at once, which tools to call, and what the user is called from now on. */
export interface Plan {
  readonly words: string;
  readonly calls: readonly PlannedCall[];
  readonly userName: string;
}

/** Plans a reply to each sentence of what was said. */
export function planReply(said: string, known: Known): Plan {
  const steps = toSteps(said.trim(), known);
  return {
    words: [...new Set(steps.flatMap(({ words }) => words ?? []))].join(' '),
    calls: steps.flatMap(({ call }) => call ?? []),
    userName: steps.findLast(({ userName }) => userName !== undefined)?.userName ?? known.userName,
  };
}

function toSteps(said: string, known: Known): readonly Step[] {
  if (said === '') return [{ words: greeting(known) }];
  const toolCall = readToolCall(said, known);
  return toolCall ? [toolCall] : sentencesOf(said).map((sentence) => readSentence(sentence, known));
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

const sentencesOf = (said: string): readonly string[] =>
  said
    .split(joint, maxSentences)
    .map((sentence) => sentence.trim())
    .filter((sentence) => sentence !== '');
