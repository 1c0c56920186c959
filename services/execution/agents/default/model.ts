import { chatModel, modelNode, type FinishReason, type ModelState } from '@agent-workflow/graph';
import { extractSummary } from './extract.ts';
import type { Brain } from './fields.ts';
import type { ModelAccess } from './settings.ts';
import { toSummaryQuestion } from './transcript.ts';

const instructions =
  'You are a helpful assistant. Use the tools that you are given when they help. ' +
  'Call `remember` when the user asks you to keep something in mind, or tells you what will matter in later conversations. ' +
  'Call `recall` before you answer what you might have been told before. It returns the nearest that is remembered, ' +
  'whether or not that has to do with the question: when it has not, say honestly that you do not know.';

const names = { apiKey: 'OPENAI_API_KEY', baseUrl: 'OPENAI_BASE_URL', model: 'MODEL' };

/** A brain that asks a model, through any API that speaks OpenAI's chat completions. Its words and calls stream through. */
export function createModelBrain(access: ModelAccess): Brain {
  const model = chatModel({ ...access, names });
  return {
    think: modelNode<ModelState & { readonly user_name: string }>({
      model,
      instructions: ({ user_name: name }) =>
        name === '' ? instructions : `${instructions}\n\nThe user is called ${name}.`,
    }),
    summarize: async (messages, previousSummary, { signal }) => {
      let text = '';
      for await (const part of model.answer(toSummaryQuestion(messages, previousSummary), signal)) {
        if (part.type === 'text') text += part.text;
        if (part.type === 'finish' && isCut(part.reason)) text = '';
      }
      // An answer that is empty, or of which the end is missing, must not empty the summary.
      return text.trim() || extractSummary(messages, previousSummary);
    },
  };
}

const isCut = (reason: FinishReason): boolean => reason === 'length' || reason === 'content_filter';
