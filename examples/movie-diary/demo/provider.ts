import { startMetadataProvider } from './metadataProvider';

/**
 * The metadata provider as a process of its own, for an installation that has no real one. DIARY_METADATA_HOST and
 * DIARY_METADATA_PORT: where it listens (127.0.0.1, 8302); METADATA_URL: what its posters are named by, the same as the
 * worker's.
 */
async function main(env: NodeJS.ProcessEnv): Promise<void> {
  const provider = await startMetadataProvider({
    port: Number(env.DIARY_METADATA_PORT ?? 8302),
    ...(env.DIARY_METADATA_HOST && { host: env.DIARY_METADATA_HOST }),
    ...(env.METADATA_URL && { url: env.METADATA_URL }),
  });
  for (const name of ['SIGTERM', 'SIGINT'] as const) process.once(name, () => void provider.close());
  process.stderr.write(`The metadata provider is ready at ${provider.url}\n`);
}

main(process.env).catch((error: unknown) => {
  process.stderr.write(`The metadata provider could not start: ${(error as Error).message}\n`);
  process.exitCode = 1;
});
