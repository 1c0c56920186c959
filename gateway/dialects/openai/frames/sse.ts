/** One event of a stream of chat completions. */
export const chatFrame = (data: object | string): Uint8Array =>
  Buffer.from(`data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`);

/** One event of a stream of a response. */
export const responseFrame = (event: { readonly type: string }): Uint8Array =>
  Buffer.from(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
