import { START, StateGraph } from '@agent-workflow/graph';

/** Books at an API that sometimes fails after it has booked. All attempts send the same key, so the API books once. */
export const createAgent = (url: string) =>
  new StateGraph({})
    .addNode(
      'book',
      async (_state, { emit, idempotencyKey, signal }) => {
        const headers = { 'idempotency-key': idempotencyKey };
        const reply = await fetch(url, { method: 'POST', headers, signal });
        if (reply.status >= 500) throw new Error(`the API answered ${reply.status}`);
        emit(reply.ok ? `Booked as ${await reply.text()}.` : 'The booking was refused.');
      },
      { retry: { maxAttempts: 4, initialDelayMs: 50 }, timeoutMs: 10_000 },
    )
    .addEdge(START, 'book')
    .compile();

export const graph = createAgent('https://booking.example/orders');
