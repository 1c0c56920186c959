import test from 'ava';
import { createSeal } from '@agent-workflow/kit/seal';
import { createGrants } from '@agent-workflow/protos/grants';
import { fromRunFileGrant, fromRunFileUse, runFilesPurpose } from '@agent-workflow/protos/run-files';
import { createReadGrant } from './grants.ts';

const secret = 'a secret of at least thirty-two characters';
const grantSecret = 'a secret of the grants, of thirty-two characters';
const claim = { owner: 'u:ada', runId: 'r1', epoch: 1 };
const use = { use: 'info', fileId: 'f1' } as const;
const sealed = createSeal([secret], runFilesPurpose).seal(
  fromRunFileGrant({ ...claim, ...use, until: Date.now() + 60_000 }),
);
const { token } = createGrants([grantSecret]).issue({ ...claim, threadId: 't1', agent: 'support', pool: 'team' });
const readGrant = createReadGrant({ secrets: [secret], grantSecrets: [grantSecret] });
const read = (authorization: string) => readGrant({ authorization, 'run-file-use': fromRunFileUse(use) });

test('the scheme of a grant has no case, and any number of blanks may come after it', (t) => {
  for (const scheme of ['Bearer ', 'bearer ', 'BEARER   '])
    t.like(read(`${scheme}${sealed}`), { ...claim, ...use }, scheme);
  for (const scheme of ['Run ', 'run ', 'RUN  ']) t.deepEqual(read(`${scheme}${token}`), { ...claim, ...use }, scheme);
});

test('a grant opens nothing under the scheme of the other kind, under another scheme, or without one', (t) => {
  const shown = ['', sealed, token, `Run ${sealed}`, `Bearer ${token}`, `Basic ${token}`, `Run${token}`, `Bearer`];
  for (const authorization of shown) t.is(read(authorization), undefined, authorization.slice(0, 10));
});
