import { parseArgs } from 'node:util';
import { runCampaign } from './campaign.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    kills: { type: 'string', default: '40' },
    runs: { type: 'string', default: '20' },
  },
});
const campaign = { seed: Number(values.seed), kills: Number(values.kills), runs: Number(values.runs) };
const { accepted, faults, restarted, givenUp } = await runCampaign(campaign);

for (const fault of faults) process.stdout.write(`${fault}\n`);
process.stdout.write(
  `seed ${values.seed}: ${values.kills} kills, ${String(accepted)} accepted runs, ${String(restarted)} steps begun again, ${String(givenUp)} runs given up, ${String(faults.length)} faults\n`,
);
process.exitCode = faults.length === 0 && accepted > 0 && restarted > 0 && givenUp < accepted / 4 ? 0 : 1;
