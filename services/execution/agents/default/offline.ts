import { randomUUID } from 'node:crypto';
import { setImmediate as breathe } from 'node:timers/promises';
import type { NodeContext } from '@agent-workflow/graph';
import { extractSummary } from './extract.ts';
import type { Brain } from './fields.ts';
import { phraseResult } from './phrases.ts';
import { planReply } from './plan.ts';
import { readTurn } from './turn.ts';

/**
 * A brain that needs no model: it understands a few ways to ask, and answers the same words alike. It thinks twice, as a
 * model does: first it calls tools, then it puts their results into words.
 */
export const offlineBrain: Brain = {
  think: async (state, ctx) => {
    const { text, results } = readTurn(state.context);
    if (results.length > 0) return speak(results.map(phraseResult).join('\n'), ctx);
    const { words, calls, userName } = planReply(text, { userName: state.user_name, tools: ctx.tools });
    await speak(words, ctx);
    for (const call of calls) ctx.emit({ type: 'tool_call', id: randomUUID(), tool_type: 'function', ...call });
    return userName === state.user_name ? undefined : { user_name: userName };
  },
  summarize: extractSummary,
};

/** A longer text than this many words is emitted several words at a time. */
const maxChunks = 1000;

/** Emits word by word, and lets others have their turn in between, so that each word is on its way before the next. */
async function speak(text: string, { emit, signal }: NodeContext): Promise<void> {
  const words = wordsOf(text);
  const wordsOfChunk = Math.ceil(words.length / maxChunks);
  for (let start = 0; start < words.length; start += wordsOfChunk) {
    signal.throwIfAborted();
    emit(words.slice(start, start + wordsOfChunk).join(''));
    await breathe();
  }
}

/** The words of a text, each with the space before it. */
function wordsOf(text: string): readonly string[] {
  const ends = Array.from(text.matchAll(/\S+/g), ({ index, 0: word }) => index + word.length);
  return ends.map((end, place) => text.slice(ends[place - 1] ?? 0, end));
}
