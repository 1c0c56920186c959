import { END, START, StateGraph } from '@agent-workflow/graph';

/** Gives a file and data beside a text. */
export const graph = new StateGraph({})
  .addNode('give', async (_state, { emit, files }) => {
    const data = Buffer.from('a cabbage');
    const { fileId } = await files.write({ filename: 'cabbage.txt', contentType: 'text/plain', data });
    emit('Here it is.');
    emit({ type: 'document', file_id: fileId, filename: 'cabbage.txt', media_type: 'text/plain' });
    emit({ type: 'data', data: { answer: 42 } });
  })
  .addEdge(START, 'give')
  .addEdge('give', END)
  .compile();
