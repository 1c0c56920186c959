import { Type } from '../../common/builders.ts';

/** `check_db` asks whether the record can be read. */
export const OkQuery = Type.Object({ check_db: Type.Optional(Type.String()) });
