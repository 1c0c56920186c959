import type { Me } from '@agent-workflow/client';
import { signal, type ReadonlySignal } from '@preact/signals';
import { client, token } from './session.ts';

const known = signal<Me | undefined>(undefined);

/** Who the reader is, once the service has said so. A page that does not know offers what everybody may do. */
export const me: ReadonlySignal<Me | undefined> = known;

/** Reads who the reader is, now and whenever somebody signs in. */
export function followMe(): void {
  token.subscribe((begunWith) => {
    known.value = undefined;
    client.me().then(
      (read) => {
        if (token.peek() === begunWith) known.value = read;
      },
      // What everybody may do is offered all the same.
      () => undefined,
    );
  });
}

/** Whether the reader sees what belongs to everybody. */
export const isOperator = (): boolean =>
  known.value?.roles.some(({ is }) => is === 'operator' || is === 'admin') ?? false;

/** Whether the reader reads messages of everybody, for a reason. */
export const readsContents = (): boolean =>
  known.value?.roles.some(({ is, reads }) => is === 'admin' || (is === 'operator' && reads === 'contents')) ?? false;

/** Whether the reader reads the audit. */
export const isAdmin = (): boolean => known.value?.roles.some(({ is }) => is === 'admin') ?? false;

/** Whether threads are shared here. */
export const mayShare = (): boolean => known.value?.signs_in ?? false;
