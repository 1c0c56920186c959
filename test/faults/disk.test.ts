import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { makeWorkspace, startStandalone } from '../servers/standalone.ts';
import { openSmallDisk } from './small-disk.ts';
import { withFaults } from './suite.ts';

withFaults(test, () => {
  test.serial('a data folder on a full disk stops the start with one line', async (t) => {
    const disk = await openSmallDisk(1);
    if (typeof disk === 'string') {
      t.log(`no tmpfs: ${disk}`);
      return;
    }
    t.teardown(async () => disk[Symbol.asyncDispose]());
    disk.fill();
    t.regex(await refusal(disk.folder), /^exit code 1: \S+ cannot be opened: the disk is full$/);
  });

  for (const name of ['threads', 'execution', 'memory', 'lock']) {
    test.serial(`a damaged ${name}.sqlite stops the start with one line`, async (t) => {
      await using workspace = await makeWorkspace('echo');
      const folder = join(workspace.folder, 'damaged');
      mkdirSync(folder);
      writeFileSync(join(folder, `${name}.sqlite`), 'this is no database, whatever its name says. '.repeat(1000));
      t.regex(await refusal(folder), /^exit code 1: .* cannot be opened: the file is damaged$/);
    });
  }
});

/** What a start on this folder says when it ends. */
async function refusal(folder: string): Promise<string> {
  await using workspace = await makeWorkspace('echo');
  try {
    await using _service = await startStandalone({ ...workspace.env, DATA_DIR: folder });
  } catch (error) {
    return (error as Error).message;
  }
  return 'it started';
}
