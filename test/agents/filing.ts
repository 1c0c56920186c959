import { END, START, StateGraph } from '@agent-workflow/graph';

/**
 * Answers a message that names files with copies of them in capitals, each in a block of its own. A text of the message is the name of the
 * copies; `stream` copies them as they come. A text alone is an order: `read ID` says what is in a file, and `keep TEXT` writes one and says its id.
 */
export const graph = new StateGraph({})
  .addNode('copy', async (state, { files, emit }) => {
    const blocks = state.context.at(-1)?.content ?? [];
    const name = blocks.find(({ type }) => type === 'text')?.['text'];
    const [order, operand = ''] = String(name).split(' ');
    if (order === 'read' || order === 'keep') {
      const { fileId } =
        order === 'read' ? { fileId: operand } : await files.write({ filename: 'kept.txt', data: operand });
      emit(order === 'keep' ? fileId : Buffer.from(await (await files.read(fileId)).bytes()).toString());
      return {};
    }
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
