import { budgetSettings } from '@agent-workflow/runtime/budget';
import { integer, type Settings, type Values } from '@agent-workflow/kit/env';
import { sizes } from '@agent-workflow/kit/sizes';

/** What the environment says about how large a request may be, and how long it may take. */
export const requestSettings = {
  MAX_BODY_BYTES: integer(sizes.body, 'Largest request body, in bytes', { min: 1024 }),
  ...budgetSettings,
  CALL_TIMEOUT_MS: integer(30_000, 'Deadline of a call to a service, in milliseconds', { min: 1 }),
  INVOKE_TIMEOUT_MS: integer(300_000, 'How long invoke waits for its run, in milliseconds; the run itself goes on', {
    min: 1,
    max: 2_147_483_647,
  }),
  STREAM_COMMENT_SECONDS: integer(15, 'Seconds without an event after which a stream sends a comment line', {
    min: 1,
    max: 86_400,
  }),
} satisfies Settings;

export type RequestConfig = Values<typeof requestSettings>;
