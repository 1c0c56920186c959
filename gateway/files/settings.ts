import { filesSecret } from '@agent-workflow/runtime/rotated-secrets';
import {
  ConfigError,
  crossCheck,
  integer,
  text,
  type Setting,
  type Settings,
  type Values,
} from '@agent-workflow/kit/env';

const endpoint: Setting<string | undefined> = {
  doc: 'Address of the S3 server, `https://host` or `http://host`; unset, that of AWS for the region',
  fallback: undefined,
  read: (value) =>
    /^https?:\/\//.test(value) && URL.canParse(value)
      ? value
      : { problem: 'must be `https://` or `http://` with a host' },
};

/** Settings of the files that callers upload. */
export const fileSettings = {
  FILES_MAX_MB: integer(100, 'Largest file, in MiB; the start fails when it is more than `FILES_QUOTA_MB`', {
    min: 1,
    max: 40_000,
  }),
  FILES_MAX_COUNT: integer(1000, 'How many files an owner may have', { min: 1, max: 1_000_000 }),
  FILES_QUOTA_MB: integer(
    1024,
    'How many bytes the files of an owner may have together, in MiB; the start fails when it is less than `FILES_MAX_MB`',
    {
      min: 1,
      max: 1_000_000_000,
    },
  ),
  FILES_TTL_HOURS: integer(24, 'After how many hours a file is removed that no thread names', {
    min: 1,
    max: 8760,
  }),
  FILES_UPLOAD_SECONDS: integer(900, 'How long one upload may take, in seconds', { min: 10, max: 86_400 }),
  FILES_FOLDER: text(
    undefined,
    'Folder that holds the bytes of files, shared by all replicas of the gateway; unset, the standalone process has one in `DATA_DIR`, and a gateway of a cluster without an S3 bucket stores no files',
  ),
  FILES_S3_BUCKET: text(undefined, 'Bucket that holds the bytes of files in place of a folder'),
  FILES_S3_ENDPOINT: endpoint,
  FILES_S3_REGION: text('us-east-1', 'Region of the bucket'),
  FILES_S3_PREFIX: text('', 'What every key in the bucket begins with, for services that share one'),
  FILES_S3_ACCESS_KEY_ID: text(
    undefined,
    'Who signs in at the S3 server; unset, as AWS has it for the machine or the pod',
    { secret: true },
  ),
  FILES_S3_SECRET_ACCESS_KEY: text(undefined, 'With what, together with `FILES_S3_ACCESS_KEY_ID`', { secret: true }),
  FILES_S3_TIMEOUT_MS: integer(
    10_000,
    'How long a connection to the S3 server, the first bytes of a file or a removal may take, in milliseconds',
    {
      min: 100,
      max: 300_000,
    },
  ),
  FILES_SECRET: filesSecret,
} satisfies Settings;

export type FileConfig = Values<typeof fileSettings>;

const { FILES_S3_BUCKET, FILES_FOLDER, FILES_SECRET, FILES_QUOTA_MB, FILES_MAX_MB } = fileSettings;
const { FILES_S3_ACCESS_KEY_ID, FILES_S3_SECRET_ACCESS_KEY } = fileSettings;

/** What must hold between them. */
export const fileChecks = [
  crossCheck({ FILES_S3_BUCKET, FILES_FOLDER }, (config) => {
    if (config.FILES_S3_BUCKET !== undefined && config.FILES_FOLDER !== undefined)
      throw new ConfigError('FILES_S3_BUCKET and FILES_FOLDER are both set: files are in one of them');
  }),
  crossCheck({ FILES_S3_ACCESS_KEY_ID, FILES_S3_SECRET_ACCESS_KEY }, (config) => {
    if ((config.FILES_S3_ACCESS_KEY_ID === undefined) !== (config.FILES_S3_SECRET_ACCESS_KEY === undefined))
      throw new ConfigError('FILES_S3_ACCESS_KEY_ID and FILES_S3_SECRET_ACCESS_KEY are set together or not at all');
  }),
  crossCheck({ FILES_QUOTA_MB, FILES_MAX_MB }, (config) => {
    if (config.FILES_QUOTA_MB < config.FILES_MAX_MB)
      throw new ConfigError('FILES_QUOTA_MB is less than FILES_MAX_MB: no file of that size could be stored');
  }),
];

/** What must hold between them in a cluster, where no replica can have a secret of its own. */
export const sharedFileChecks = [
  ...fileChecks,
  crossCheck({ FILES_S3_BUCKET, FILES_FOLDER, FILES_SECRET }, (config) => {
    if (config.FILES_SECRET === undefined && (config.FILES_S3_BUCKET ?? config.FILES_FOLDER) !== undefined)
      throw new ConfigError('FILES_SECRET must be set where FILES_S3_BUCKET or FILES_FOLDER is');
  }),
];

const MiB = 1024 * 1024;

/** The bounds of one owner's files, in bytes and counts. */
export interface FileLimits {
  readonly maxFileBytes: number;
  readonly maxFiles: number;
  readonly maxBytes: number;
  readonly ttlMs: number;
  readonly uploadMs: number;
}

export const toFileLimits = (config: FileConfig): FileLimits => ({
  maxFileBytes: config.FILES_MAX_MB * MiB,
  maxFiles: config.FILES_MAX_COUNT,
  maxBytes: config.FILES_QUOTA_MB * MiB,
  ttlMs: config.FILES_TTL_HOURS * 3_600_000,
  uploadMs: config.FILES_UPLOAD_SECONDS * 1000,
});
