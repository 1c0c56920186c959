import { randomUUID } from 'node:crypto';
import { setImmediate as breathe } from 'node:timers/promises';
import type { NodeContext } from '@agent-workflow/execution/graph';
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
    const { said, results } = readTurn(state.context);
    if (results.length > 0) return speak(results.map(phraseResult).join('\n'), ctx);
    const { words, calls, userName } = planReply(said, { userName: state.user_name, tools: ctx.tools });
    await speak(words, ctx);
    for (const call of calls) ctx.emit({ type: 'tool_call', id: randomUUID(), tool_type: 'function', ...call });
    return userName === state.user_name ? undefined : { user_name: userName };
  },
  summarize: extractSummary,
};

/** Says it word by word, and lets others have their turn in between, so that each word is on its way before the next. */
async function speak(words: string, { emit, signal }: NodeContext): Promise<void> {
  for (const word of words.match(/\s*\S+/g) ?? []) {
    signal.throwIfAborted();
    emit(word);
    await breathe();
  }
}
