/** One reader of a run's stream, who goes on at another gateway after the last event that arrived whole. */
export interface Reader {
  /** Asks for the stream; gives the status of the reply. */
  readonly open: (url: string) => Promise<number>;
  /** Reads to the end of the stream, or to where it is cut. */
  readonly read: () => Promise<void>;
  /** Leaves the stream, which may not have been read. */
  readonly leave: () => Promise<void>;
  /** Whole events that have arrived, as text. */
  readonly events: readonly string[];
}

export function createReader(runId: string): Reader {
  const events: string[] = [];
  // The whole reply: fetch cancels the body of one that is collected as garbage before anybody reads it.
  let opened: Response | undefined;
  return {
    events,
    open: async (url) => {
      const last = /^id: (.*)$/m.exec(events.at(-1) ?? '')?.[1];
      const headers = last === undefined ? {} : { 'last-event-id': last };
      const reply = await fetch(`${url}/v1/runs/${runId}/stream`, { headers });
      if (reply.status === 200) opened = reply;
      else await reply.body?.cancel();
      return reply.status;
    },
    leave: async () => opened?.body?.cancel(),
    read: async () => {
      let rest = '';
      try {
        for await (const text of opened?.body?.pipeThrough(new TextDecoderStream()) ?? []) {
          const parts = (rest + text).split('\n\n');
          rest = parts.pop() ?? '';
          events.push(...parts.filter((part) => !part.startsWith(':')));
        }
      } catch (error) {
        // What is cut by a death is an error of the connection.
        if (!(error instanceof TypeError)) throw error;
      }
    },
  };
}
