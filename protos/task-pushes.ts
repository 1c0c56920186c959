// The JSON of where the states of a task of A2A are sent: an object of the kind `push`, whose id is that of the task. The gateway writes it, the
// execution service reads it.

/** Where the states of a task are sent, as its caller has asked. */
export interface PushConfig {
  readonly id: string;
  readonly url: string;
  /** Sent with each notification, for its receiver to know it by. */
  readonly token?: string;
  readonly authentication?: { readonly scheme: string; readonly credentials?: string };
}

interface TaskPushes {
  readonly configs: readonly PushConfig[];
}

/** What one task may have (a count), and for how long it is kept after its last change, in milliseconds. */
export const pushBounds = { configs: 10, keptMs: 30 * 24 * 3_600_000 } as const;

export const toPushesJson = (pushes: TaskPushes): Uint8Array => Buffer.from(JSON.stringify(pushes));

export const readPushes = (json: Uint8Array): TaskPushes =>
  JSON.parse(Buffer.from(json).toString('utf8')) as TaskPushes;
