import { eachOf } from '@agent-workflow/kit/each';
import { ServiceError } from '@agent-workflow/kit/errors';
import type { Access, Subject } from '../../http/access.ts';
import type { EndpointRequest } from '../../http/endpoint.ts';
import type { Services } from './services.ts';

/** Questions to the authorization backend at the same time. */
const atOnce = 8;

/** Of several things that a request touches those that the caller may touch so. The backend is asked once about each agent and thread. */
export async function touchable<T>(
  { owner, user }: Pick<EndpointRequest, 'owner' | 'user'>,
  access: Access,
  things: readonly T[],
  subjectOf: (thing: T) => Subject,
  { mayTouch }: Pick<Services, 'mayTouch'>,
): Promise<readonly T[]> {
  if (!mayTouch) return things;
  const answers = new Map<string, Promise<boolean>>();
  const allowed: boolean[] = [];
  await eachOf([...things.entries()], atOnce, async ([index, thing]) => {
    const subject = subjectOf(thing);
    const key = JSON.stringify([subject.agent, subject.thread_id]);
    const answer = answers.get(key) ?? mayTouch({ owner, ...(user && { user }) }, access, subject);
    answers.set(key, answer);
    allowed[index] = await answer;
  });
  return things.filter((_, index) => allowed[index]);
}

/** @throws PermissionDenied where the caller may not touch all of what the request names */
export async function mayTouchAll<T>(
  request: Pick<EndpointRequest, 'owner' | 'user'>,
  access: Access,
  things: readonly T[],
  subjectOf: (thing: T) => Subject,
  services: Pick<Services, 'mayTouch'>,
): Promise<void> {
  const allowed = await touchable(request, access, things, subjectOf, services);
  if (allowed.length < things.length)
    throw new ServiceError('PermissionDenied', `${access.action} on ${access.resource} is not allowed`);
}
