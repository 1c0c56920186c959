import type { AuthorizationBackend, UserContext } from '@agent-workflow/gateway/auth';

/** Lets everyone read, and nobody anything else. */
export const readsOnly: AuthorizationBackend = {
  authorize: async (_user, _resource, action) => action === 'read',
};

interface Asked {
  readonly user: UserContext;
  readonly resource: string;
  readonly action: string;
}

/** Does what the user's `may` says; it writes down what it is asked. */
export const byUser = {
  asked: [] as Asked[],
  authorize(user: UserContext, resource: string, action: string): Promise<boolean> {
    this.asked.push({ user, resource, action });
    switch (user['may']) {
      case 'all':
        return Promise.resolve(true);
      case 'throw':
        throw Object.assign(new Error('secret of the backend'), { status: 403 });
      case 'reject':
        return Promise.reject(new Error('secret of the backend'));
      case 'hang':
        return new Promise(() => undefined);
      case 'truthy':
        return Promise.resolve('yes' as never);
      case 'nothing':
        return Promise.resolve(undefined as never);
      default:
        return Promise.resolve(false);
    }
  },
} satisfies AuthorizationBackend & { asked: Asked[] };

export const wrong = { authorise: readsOnly.authorize };
