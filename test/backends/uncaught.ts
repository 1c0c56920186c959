import { BaseAuth, type Answer, type AuthRequest } from '@agent-workflow/gateway/auth';

/** Lets everybody in, and leaves behind what the header `x-order` says. */
export class Uncaught extends BaseAuth {
  override authenticate({ headers }: AuthRequest): Answer {
    const error = new Error('uncaught error of a backend');
    if (headers['x-order'] === 'reject') void Promise.reject(error);
    if (headers['x-order'] === 'throw')
      setTimeout(() => {
        throw error;
      }, 1);
    return { user_id: 'ada' };
  }
}
