import { END, START, StateGraph } from '@agent-workflow/graph';

/**
 * Answers a message that names files with copies of them in capitals, each in a block of its own. A text of the message is the name of the
 * copies; `stream` copies them as they come.
 */
export const graph = new StateGraph({})
  .addNode('copy', async (state, { files }) => {
    const blocks = state.context.at(-1)?.content ?? [];
    const name = blocks.find(({ type }) => type === 'text')?.['text'];
    const copies = [];
    for (const { file_id: fileId } of blocks) {
      if (typeof fileId !== 'string') continue;
      const file = await files.read(fileId);
      const data = name === 'stream' ? capitals(file.stream()) : toCapitals(await file.bytes());
      const { contentType } = file.info;
      const copy = await files.write({ filename: `${String(name)}-${file.info.filename}`, contentType, data });
      copies.push({ type: 'document', file_id: copy.fileId });
    }
    return {
      messages: [
        { role: 'assistant', content: [{ type: 'text', text: `${String(copies.length)} copied` }, ...copies] },
      ],
    };
  })
  .addEdge(START, 'copy')
  .addEdge('copy', END)
  .compile();

const toCapitals = (bytes: Uint8Array): Uint8Array => Buffer.from(Buffer.from(bytes).toString().toUpperCase());

async function* capitals(stream: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const chunk of stream) yield toCapitals(chunk);
}
