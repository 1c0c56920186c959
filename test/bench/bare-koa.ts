import Koa from 'koa';
import type { AddressInfo } from 'node:net';

/** What the bare app answers to whatever it is asked. */
export interface CannedReply {
  readonly type: string;
  readonly body: string;
}

// The measure of things: Koa, one middleware, the same bytes. It reads nothing of the request beyond what Koa does.
let reply: CannedReply = { type: 'text/plain', body: '' };

const app = new Koa();
app.use((ctx) => {
  ctx.type = reply.type;
  ctx.body = reply.body;
});

process.on('message', (next) => {
  reply = next as CannedReply;
  process.send?.({ ready: true });
});

const server = app.listen(0, '127.0.0.1', () => {
  process.send?.({ port: (server.address() as AddressInfo).port });
});
process.on('disconnect', () => {
  server.closeAllConnections();
  server.close();
});
