import { RequestError, type ConnectionChange, type RunEvent } from '@agent-workflow/client';

/** Where a reader of a run stands, and who is called when its connection changes. */
interface Reading {
  /** The id of the last event that came; all events come without it. */
  readonly after?: string | undefined;
  readonly onConnection: (change: ConnectionChange) => void;
}

/**
 * The events of a run for as long as their reader is there. The client gives a service up that is away for about a minute; a page that is
 * open waits longer: a gateway that is replaced may be away for minutes, and its reader would have to ask for what goes on.
 * @throws RequestError for a refusal; the reason of the signal that `follow` has.
 */
export async function* outlasting(
  follow: (reading: Reading) => AsyncIterable<RunEvent>,
  { after, onConnection }: Reading,
): AsyncGenerator<RunEvent, void> {
  let last = after;
  const connection: { isLost: boolean } = { isLost: false };
  const announce = (change: ConnectionChange): void => {
    connection.isLost = change === 'lost';
    onConnection(change);
  };
  for (;;) {
    try {
      for await (const event of follow({ after: last, onConnection: announce })) {
        // What the attempt before this one has lost.
        if (connection.isLost) announce('resumed');
        last = event.id;
        yield event;
      }
      if (connection.isLost) announce('resumed');
      return;
    } catch (error) {
      if (!(error instanceof RequestError && error.code === 'UNREACHABLE')) throw error;
      announce('lost');
    }
  }
}
