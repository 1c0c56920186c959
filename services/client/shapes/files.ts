/** A stored file. */
export interface FileInfo {
  readonly file_id: string;
  /** What its bytes show, else what was declared. */
  readonly mime_type: string;
  readonly size_bytes: number;
  readonly filename: string;
  readonly sha256: string;
  readonly created_at: string;
  /** When it is removed unless a message of a thread names it by then. */
  readonly expires_at?: string;
  readonly extracted_text: string | null;
}

/** Which files are listed. Times are ISO 8601. */
export interface FilesQuery {
  readonly limit?: number;
  readonly cursor?: string | undefined;
  /** A text in the name or the id. */
  readonly search?: string;
  /** As `image/png`, or `image/*`. */
  readonly mime_type?: string;
  /** Whose upload began at this time or later. */
  readonly from?: string;
  /** Whose upload began before this time. */
  readonly to?: string;
}

export interface UploadedFile extends FileInfo {
  /** The path at which its owner reads the bytes. */
  readonly url: string;
}

/** An address that gives the bytes without credentials. */
export interface FileUrl {
  readonly file_id: string;
  readonly url: string;
  /** In seconds since 1970. */
  readonly expires_at: number;
  readonly mime_type: string;
}

/** What files the service takes. */
export interface MultimodalConfig {
  /** `local`, `s3` or `none`. */
  readonly media_storage_type: string;
  readonly media_storage_path: string;
  readonly media_max_size_mb: number;
  readonly media_max_files: number;
  readonly media_quota_mb: number;
  readonly document_handling: string;
}
