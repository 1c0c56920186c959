import { createReactAgent, tool, type AnswerPart, type Model } from '@agent-workflow/graph';
import { user, walk } from '@agent-workflow/graph/testing';

/** All parts of an answer. */
export const answerOf = async (model: Model): Promise<AnswerPart[]> =>
  Array.fromAsync(
    model.answer({ instructions: '', messages: [user('Hello')], tools: [] }, new AbortController().signal),
  );

const png = 'iVBORw0KGgo=';

/** The text of the answer to a question that shows an image. */
export async function answerToImage(model: Model): Promise<string> {
  const image = { type: 'image', data: png, media_type: 'image/png' };
  const shown = { ...user(''), content: [{ type: 'text', text: 'What is this?' }, image] };
  const asked = { instructions: '', messages: [shown], tools: [] };
  return joined(await Array.fromAsync(model.answer(asked, new AbortController().signal)), 'text');
}

/** That question as chat completions take it. */
export const imageSent = {
  role: 'user',
  content: [
    { type: 'text', text: 'What is this?' },
    { type: 'image_url', image_url: { url: `data:image/png;base64,${png}` } },
  ],
};

/** The chunks of one kind as one text. */
export const joined = (parts: readonly AnswerPart[], type: 'text' | 'reasoning'): string =>
  parts.map((part) => (part.type === type ? part.text : '')).join('');

export const finishOf = (parts: readonly AnswerPart[]): string | undefined => {
  const last = parts.at(-1);
  return last?.type === 'finish' ? last.reason : undefined;
};

/** What an agent did whose only tool is `weather`: the cities that the tool was called with, in order, and the results that the model read. */
export async function playAgent(
  model: Model,
): Promise<{ readonly cities: readonly unknown[]; readonly results: readonly string[] }> {
  const cities: unknown[] = [];
  const weather = tool(
    {
      name: 'weather',
      description: 'The weather',
      parameters: { type: 'object', properties: { city: { type: 'string' } } },
    },
    ({ city }) => {
      cities.push(city);
      return 'sunny';
    },
  );
  const { state } = await walk(createReactAgent({ model, tools: [weather] }), { context: [user('Paris and Oslo?')] });
  const results = state.context.flatMap(({ role, content }) =>
    role === 'tool' ? content.map(({ output }) => String(output)) : [],
  );
  return { cities, results };
}
