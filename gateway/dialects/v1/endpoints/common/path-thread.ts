import { ServiceError } from '@agent-workflow/kit/errors';
import { idText } from '@agent-workflow/protos/message';
import { located } from '../../../../http/fields.ts';

/** @throws BadRequest when `config.thread_id` names another thread than the path does. */
export function checkPathThread(named: string | number | undefined, threadId: string): void {
  if (named !== undefined && idText(named) !== threadId) {
    const msg = `config.thread_id "${idText(named)}" is not the thread of the path, "${threadId}"`;
    const detail = located({ loc: ['body', 'config', 'thread_id'], msg, type: 'value_error' });
    throw new ServiceError('BadRequest', msg, { details: [detail] });
  }
}
