import os from 'node:os';

// Imported before anything that reads them: worker identities and queue names hold both.
os.hostname = () => 'recorder';
Object.defineProperty(process, 'pid', { value: 1 });
