import type { AuthorizationBackend, Subject, UserContext } from '@agent-workflow/gateway/auth';

/** Lets everyone read, and nobody anything else. */
export const readsOnly: AuthorizationBackend = {
  authorize: async (_user, _resource, action) => action === 'read',
};

/** Lets everyone stream, and nobody anything else. */
export const streamsOnly: AuthorizationBackend = {
  authorize: async (_user, _resource, action) => action === 'stream',
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

interface AskedAbout extends Asked {
  readonly subject: Subject | undefined;
}

/** Lets a user do everything with the agents that its `agents` names, and with what is about no agent; it writes down what it is asked. */
export const byAgent = {
  needsAgent: true,
  asked: [] as AskedAbout[],
  authorize(user: UserContext, resource: string, action: string, subject?: Subject): Promise<boolean> {
    this.asked.push({ user, resource, action, subject });
    const agents = user['agents'] as readonly string[];
    return Promise.resolve(subject?.agent === undefined || agents.includes(subject.agent));
  },
} satisfies AuthorizationBackend & { asked: AskedAbout[] };

/** Lets a user do everything but with the threads that its `without` names. */
export const byThread = {
  needsAgent: true,
  authorize: (user: UserContext, _resource: string, _action: string, subject?: Subject): Promise<boolean> =>
    Promise.resolve(!((user['without'] ?? []) as readonly unknown[]).includes(subject?.thread_id)),
} satisfies AuthorizationBackend;

export const unclear = { authorize: readsOnly.authorize, needsAgent: 'yes' };

export const wrong = { authorise: readsOnly.authorize };
