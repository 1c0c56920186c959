import { badRequest } from '@agent-workflow/kit/errors';
import { idText } from '@agent-workflow/protos/message';

/** @throws BadRequest when `config.thread_id` names another thread than the path does. */
export function checkPathThread(named: string | number | undefined, threadId: string): void {
  if (named !== undefined && idText(named) !== threadId) {
    throw badRequest(`config.thread_id "${idText(named)}" is not the thread of the path, "${threadId}"`);
  }
}
