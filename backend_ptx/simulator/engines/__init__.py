"""What runs beside the threads or joins them: copies, mbarriers, clusters, warpgroup MMAs."""
