report.start();
